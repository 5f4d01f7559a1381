"""What the documents show, run as it stands."""

import re
import subprocess
import sys

import numpy as np
import pytest

from posvec.vectors.golden import Golden, table_case
from tests.acceptance.conftest import ROOT


def test_the_five_lines_that_read_a_golden_file_without_posvec_read_it(tmp_path):
    page = (ROOT / "docs" / "golden-files.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    script = tmp_path / "read.py"
    script.write_text(
        code + "import sys\nsys.stdout.buffer.write(expected.tobytes())\nassert 'posvec' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, script], cwd=ROOT / "vectors", capture_output=True, check=True)
    golden = Golden.open(ROOT / "vectors" / "learned_pos_embed.h5")
    known = golden.known(table_case(golden.name, seed=42, T=3, d_model=4))
    assert np.frombuffer(done.stdout, np.float32).tobytes() == known.expected.tobytes()


def test_every_link_between_documents_leads_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_stages_on_the_page_on_porting_are_those_that_show_prints(posvec):
    page = (ROOT / "docs" / "porting.md").read_text()
    command, block = re.search(r"`posvec (show [^`]*--seed[^`]*)`[^`]*?\n\n((?:    .*\n)+)", page).groups()
    assert re.sub("^    ", "", block, flags=re.MULTILINE) == posvec(*command.split()).out


@pytest.mark.slow
def test_the_first_session_in_the_readme_is_a_real_one(posvec):
    block = re.search(r"```\n(\$ posvec verify.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = session.partition("\n")
        ran = posvec(*command.split()[1:], cwd=ROOT)
        # What share of the port's elements is rounded otherwise depends on the CPU, through NumPy's logarithm.
        out, shown = (re.sub(r"\d\.\d %", "… %", text) for text in (ran.out, shown.rstrip("\n")))
        assert out.startswith(shown), command
