import base64
import re
import struct
import time
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from posvec.schemas.report import CaseResult
from posvec.verifier.reports.audience import for_audience
from posvec.verifier.reports.heatmap import PALETTE
from posvec.verifier.reports.html import to_html
from posvec.verifier.reports.png import png

CLOSED_BY_NONE = {"meta", "br", "img", "hr", "input", "link"}


def decoded(data):
    """Return the indices and the palette of a PNG, read as the specification says."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + size
    width, height, *form = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert form == [8, 3, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:], np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)


def maps(page):
    """Return the indices of each map of a page, by title, in order."""
    found = re.findall(r"<figcaption[^>]*>([^<]+)</figcaption><svg.*?href=\"data:image/png;base64,([^\"]+)\"", page)
    return [(title, decoded(base64.b64decode(data))[0]) for title, data in found]


def text(report):
    return to_html(report).decode()


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.attributes = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]
        if tag not in CLOSED_BY_NONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_an_image_holds_its_pixels():
    indices = np.arange(6, dtype=np.uint8).reshape(2, 3)
    read, palette = decoded(png(indices, PALETTE))
    assert np.array_equal(read, indices)
    assert palette.tolist() == [list(colour) for colour in PALETTE]
    assert len(PALETTE) == len(set(PALETTE)) <= 256


def test_a_transposed_table_is_seen_transposed(report_of):
    square = [map_ for map_ in maps(text(report_of("transposed"))) if map_[1].shape == (16, 16)]
    (_, expected), (_, got), (_, difference) = square[:3]
    assert len(np.unique(expected)) > 50
    assert np.abs(got.astype(int) - expected.T).max() <= 1  # the port may round across a step
    assert np.array_equal(difference.diagonal(), np.full(16, 126))


def test_a_shifted_table_is_seen_shifted(report_of):
    shown = maps(text(report_of("shifted")))
    assert [title for title, _ in shown[:3]] == ["Expected", "Got", "Got less expected"]
    (_, expected), (_, got) = shown[:2]
    assert got.shape == (32, 16)
    assert np.abs(got[:-1].astype(int) - expected[1:]).max() <= 1


def test_an_array_of_a_wrong_shape_is_shown_as_it_came(report_of):
    page = text(report_of("two_dimensional"))
    (_, expected), (title, got) = maps(page)[:2]
    assert (title, got.shape) == ("Got", expected.shape)
    assert "float32 of shape (16, 16) came, shown as it came" in page


def test_values_that_are_not_finite_have_colours_of_their_own(report_of):
    page = text(report_of("not_finite"))
    (_, got) = maps(page)[1]
    assert got[0, :3].tolist() == [253, 254, 254]
    assert (got[0, 3:] < 253).all()
    assert "1 NaN<" in page
    assert "2 infinite values<" in page


def test_the_page_is_well_formed_and_needs_nothing_but_itself(report_of):
    page = text(report_of("raising"))
    tags = Tags(page)
    assert tags.open == []
    assert not {"script", "img", "iframe", "object", "link", "form"} & set(tags.seen)
    assert [tag for tag, name, _ in tags.attributes if name.startswith("on") or name == "style"] == []
    policy = next(v for tag, name, v in tags.attributes if tag == "meta" and name == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    links = [v for _, name, v in tags.attributes if name in ("href", "src")]
    assert all(link.startswith(("data:image/png;base64,", "https://")) for link in links)
    assert "&lt;script&gt;alert(1)" in page
    assert "\\u202e\\u2028\\x1b" in page


def test_what_each_section_is_for_is_there_and_in_order(report_of):
    page = text(report_of("transposed"))
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles == [
        "What to do next",
        "What is wrong",
        "The first failure",
        "What came",
        "Which cases",
        "How far from the expected values",
        "The run",
    ]
    assert "return pos_embed[:T].reshape(-1)" in page.split("<h2>What is wrong")[0]
    assert re.search(r"<pre><code>posvec verify \S+targets.py:transposed --select", page)


def test_every_case_stands_in_the_grid_of_its_seed(report_of):
    wide, high = (1, 2, 3, 4, 8, 16, 64), (0, 3, 11)
    results = tuple(
        CaseResult(id=f"x/seed={s}/d_model={d}/T={T}", outcome="value" if T and d > s else "pass")
        for T in high
        for s in (0, -1, 2)
        for d in wide
    )
    page = text(replace(report_of("raising"), results=results))
    grids = re.findall(r'<table class="grid"><caption>(.*?)</caption>(.*?)</table>', page)
    assert [name for name, _ in grids] == ["seed 0", "seed -1", "seed 2"]
    cells = re.findall(r'<td class="o (\w+)">(.)</td>', "".join(body for _, body in grids))
    assert len(cells) == len(results)
    assert set(cells) == {("value", "V"), ("pass", "·")}
    assert f"</span> value {cells.count(('value', 'V'))}</li>" in page
    assert re.findall(r'<th scope="col">(\d+)</th>', grids[0][1]) == [str(d) for d in wide]
    rows = re.findall(r'<tr><th scope="row">(\d+)</th>(.*?)</tr>', grids[2][1])
    assert [row for row, _ in rows] == ["0", "3", "11"]
    assert re.findall(r'o (\w+)"', rows[1][1]) == ["pass"] * 2 + ["value"] * 5


def test_cases_that_fill_no_grid_are_counted_along_each_axis(report_of):
    results = tuple(
        CaseResult(id=f"x/seed={i}/d_model={i % 7}/T={i % 5}", outcome="value" if i % 5 else "pass") for i in range(500)
    )
    page = text(replace(report_of("raising"), results=results))
    assert "<summary>By d_model</summary>" in page
    by_T = page.split("<summary>By T</summary>")[1].split("</table>")[0]
    assert re.findall(r'<td class="number">(\d*)</td>', by_T)[:4] == ["100", "", "", "100"]


def test_the_page_of_the_default_sweep_is_small_and_quick(report_of):
    report = report_of("transposed")
    results = tuple(
        CaseResult(id=f"learned_pos_embed/seed={s}/d_model={d}/T={T}", outcome="error", detail="'\"" * 2000)
        for s in range(9)
        for d in (1, 2, 3, 4, 8, 16, 64)
        for T in range(33)
    )
    began = time.process_time()
    page = to_html(replace(report, results=results, output="<'\"😀" * 60_000))
    assert time.process_time() - began < 1
    assert len(results) == 2079
    assert len(page) < 2_000_000


def test_a_student_sees_what_came_and_where_it_is_wrong(report_of):
    report = for_audience(report_of("not_finite"), "student")
    assert report.failure.reproduce.startswith("posvec verify --audience student ")
    page = text(report)
    assert [title for title, _ in maps(page)] == ["Got", "Where it is wrong"] * 3
    assert "Expected" not in page
    assert "How far" not in page
    assert ">expected<" not in page


@pytest.mark.parametrize("audience", ["instructor", "student"])
def test_a_conforming_run_has_a_page_too(report_of, audience):
    page = text(for_audience(report_of("right"), audience))
    assert '<header class="verdict good">' in page
    assert "a passing case" in page
