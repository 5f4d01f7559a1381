import html
import xml.etree.ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from posvec.schemas.report import TEXT_LIMIT, safe_text
from posvec.verifier.reports.untrusted import (
    csv_cell,
    html_prose,
    html_text,
    markdown_block,
    markdown_prose,
    markdown_text,
    xml_text,
)

HOSTILE = (
    "<script>alert(1)</script></style></pre></textarea><!-- ]]> [x](javascript:alert(1)) ![i](//e.org/i) "
    "\n\n```\n# h\n| a | b |\n<b>\n~~~\n\x1b[31m\x00\x85\x9b\u202e\u2028\u200b\ufeff\ufffe\ud800 &amp; ' \" www.e.org"
)
CONTROL = "\x1b\x00\x85\x9b\u202e\u2028\u200b\ufeff\ufffe\ud800"


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "é" * 200_000,
        "😀" * 200_000,
        "😀" * 20_000,
        "\x00" * 50_000,
        "\ud800" * 200_000,
        "\U000e0001" * 60_000,
    ],
    ids=["ascii", "two-bytes", "four-bytes", "four-bytes-few", "escapes", "surrogates", "wide-escapes"],
)
@pytest.mark.parametrize("limit", [TEXT_LIMIT, 1000, 100])
def test_a_text_holds_at_most_its_limit_in_bytes_of_utf_8(text, limit):
    shown = safe_text(text, limit=limit)
    assert limit - 12 <= len(shown.encode()) <= limit
    assert f"the middle of {len(text):,} characters is left out" in shown


def test_a_text_within_its_limit_is_whole():
    assert safe_text("é\t\n" + "a" * (TEXT_LIMIT - 4)) == "é\t\n" + "a" * (TEXT_LIMIT - 4)
    assert safe_text("") == ""


@pytest.mark.parametrize("medium", [html_text, markdown_text, markdown_block, csv_cell, xml_text])
def test_no_control_character_passes_into_any_medium(medium):
    shown = medium(HOSTILE)
    assert not set(CONTROL) & set(shown)
    assert all(c.isprintable() or c in "\n\t" for c in shown)
    shown.encode("utf-8")


def test_text_in_html_is_the_text_that_it_is():
    assert html.unescape(html_text(HOSTILE)) == safe_text(HOSTILE)
    assert not set("<>\"'") & set(html_text(HOSTILE))


def test_text_in_markdown_is_only_text():
    render = MarkdownIt("commonmark", {"html": True}).enable("table").render
    cell = markdown_text(HOSTILE)
    for page in (render(cell), render(f"| a |\n|---|\n| {cell} |"), render(f"a\n\n{markdown_block(HOSTILE)}\n\nb")):
        elements = ET.fromstring(f"<page>{page}</page>")
        assert {e.tag for e in elements.iter()} <= {"page", "p", "pre", "table", "thead", "tbody", "tr", "th", "td"}
        assert "[x](javascript:alert(1))" in "".join(elements.itertext())
    assert elements.find("pre").text == safe_text(HOSTILE)
    assert elements.findall("p")[1].text == "b"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "  =1", "\uff1d1", "\t=1"])
def test_a_spreadsheet_takes_no_cell_for_a_formula(text):
    assert csv_cell(text).startswith(("'", "\\"))


def test_plain_text_stays_plain_in_a_cell():
    assert csv_cell("homework.py: 1 = 1") == "homework.py: 1 = 1"


def test_text_is_legal_xml():
    element = ET.Element("a")
    element.text = xml_text(HOSTILE)
    assert ET.fromstring(ET.tostring(element)).text == safe_text(HOSTILE)


def test_what_stands_between_backticks_is_code_in_prose_and_still_only_text():
    said = "Run `a <b> [x](y)` first, or `. <i>"
    assert html_prose(said) == "Run <code>a &lt;b&gt; [x](y)</code> first, or `. &lt;i&gt;"
    page = MarkdownIt("commonmark", {"html": True}).render(markdown_prose(said))
    assert page.startswith("<p>Run <code>a &lt;b&gt; [x](y)</code> first, or `.")
    assert "<i>" not in page
    for prose in (html_prose(HOSTILE), MarkdownIt("commonmark", {"html": True}).render(markdown_prose(HOSTILE))):
        assert {e.tag for e in ET.fromstring(f"<page>{prose}</page>").iter()} <= {"page", "p", "code"}
