"""A page in headless Chromium: what it measures, and what it complains of."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
    "--window-size=1000,1000",
)
_MEASURE = """
onload = () => {
  const page = document.querySelector('iframe').contentDocument, view = page.defaultView;
  page.querySelectorAll('details').forEach(e => e.open = true);
  const found = {
    width: page.documentElement.scrollWidth,
    outside: [...page.querySelectorAll('body *')].filter(
      e => e.getBoundingClientRect().right > 390 && !e.closest('.wide')).length,
    images: page.querySelectorAll('svg image').length,
    pictures: [...page.querySelectorAll('svg.map')].filter(e => e.getBoundingClientRect().width < 100).length,
    requests: view.performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length,
    scripts: page.querySelectorAll('script, img, iframe').length,
    background: view.getComputedStyle(page.body).backgroundColor,
    colour: view.getComputedStyle(page.body).color,
    touch: Math.min(...[...page.querySelectorAll('summary')].map(e => e.getBoundingClientRect().height)),
    focusable: page.querySelectorAll('.wide:not([tabindex])').length,
  };
  document.getElementById('found').textContent = JSON.stringify(found);
};
"""


def on_a_phone(page: Path, folder: Path, *, dark: bool) -> tuple[str, list[str]]:
    """Return as JSON what a window of 390 pixels shows of ``page``, all unfolded, and the console's messages.

    A window of Chromium's own is never that narrow, so the page is in a frame, under its own content security policy.
    """
    frame = folder / f"phone-{dark}.html"
    frame.write_text(
        f'<!doctype html><body><iframe width="390" height="800" srcdoc="{html.escape(page.read_text())}"></iframe>'
        f'<pre id="found"></pre><script>{_MEASURE}</script>'
    )
    done = subprocess.run(
        [
            str(CHROMIUM),
            *_SWITCHES,
            f"--user-data-dir={folder / f'profile-{dark}'}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--dump-dom",
            frame.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    match = re.search(r'<pre id="found">(.*?)</pre>', done.stdout)
    assert match, done.stderr
    return html.unescape(match[1]), [line for line in done.stderr.splitlines() if "CONSOLE" in line]
