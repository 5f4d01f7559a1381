"""One self-contained HTML page: style inside, nothing from the network, no script.

The content security policy names the style by its hash and forbids everything else, so that even markup that slipped
through could load and run nothing. Style attributes are forbidden with it: use classes, or attributes of SVG.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from posvec.verifier.reports.untrusted import html_text


def page(title: str, body: str) -> bytes:
    """Return an HTML document in UTF-8; ``title`` is text, ``body`` is HTML in which all text is escaped already."""
    style = files("posvec.verifier.reports").joinpath("page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html_text(title, limit=200)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    ).encode()


def scrolling(label: str, body: str) -> str:
    """Return ``body``, HTML, in a box that scrolls sideways alone, by keyboard too; ``label`` is text and names it."""
    return f'<div class="wide" tabindex="0" role="region" aria-label="{html_text(label)}">{body}</div>'
