"""The typed reading of a manifest refuses whatever the schema refuses, so that a run can do without the schema."""

import copy
import json
import time

import pytest

from posvec.schemas.case_manifest import CaseManifest
from posvec.schemas.manifest import Manifest
from posvec.schemas.validate import violation
from posvec.vectors.files import SHIPPED

TEXT = (SHIPPED / "learned_pos_embed.json").read_text("ascii")
DOCUMENT = json.loads(TEXT)
# Two recordings say it all; eighty builds would make this slow.
DOCUMENT["recordings"] = [{**recording, "builds": recording["builds"][:1]} for recording in DOCUMENT["recordings"][:2]]
OTHERS = (None, True, 7, -1, 1.5, "x", "", [], {}, ["x"], {"x": 1})


def accepted(document):
    text = json.dumps(document, indent=1, ensure_ascii=True) + "\n"
    try:
        return Manifest.from_dict(document).to_json() == text
    except (KeyError, TypeError, ValueError):
        return False


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(path, change):
    document = copy.deepcopy(DOCUMENT)
    where = document
    for key in path[:-1]:
        where = where[key]
    change(where, path[-1])
    return document


def test_the_shipped_manifests_follow_the_schema_and_read_back_as_they_are():
    for path in SHIPPED.glob("*.json"):
        text = path.read_text("ascii")
        document = json.loads(text)
        assert violation(document, document["$schema"]) is None
        kind = CaseManifest if document["storage"]["kind"] == "cases" else Manifest
        assert kind.from_dict(document).to_json() == text


@pytest.mark.parametrize("path", [path for path in places(DOCUMENT) if path], ids=lambda path: ".".join(map(str, path)))
def test_what_the_schema_refuses_is_refused_without_it(path):
    variants = [changed(path, lambda where, key, new=new: where.__setitem__(key, new)) for new in OTHERS]
    variants.append(changed(path, lambda where, key: where.__delitem__(key)))
    for document in variants:
        if violation(document, "golden.schema.json") is not None:
            assert not accepted(document), document
    extra = changed(path, lambda where, _: where.update(extra=1) if isinstance(where, dict) else where.append(1))
    assert violation(extra, "golden.schema.json") is not None
    assert not accepted(extra)


def refusal(change):
    document = copy.deepcopy(DOCUMENT)
    change(document)
    with pytest.raises((KeyError, TypeError, ValueError)) as caught:
        Manifest.from_dict(document)
    return str(caught.value)


def parameter(document, name):
    return next(one for one in document["suite"]["parameters"] if one["name"] == name)


def test_axes_that_no_table_has_are_refused_whatever_the_suite_allows():
    """The tables take them for granted: d_model 0 would be divided by, T 40 would lie beyond 32 rows."""

    def widen(name, **bounds):
        def change(document):
            parameter(document, name).update(minimum=bounds["low"], maximum=bounds["high"])
            document["axes"][name] = bounds["text"]

        return change

    assert "at most the rows" in refusal(widen("T", low=0, high=40, text="0..40"))
    assert "at most the rows" in refusal(widen("T", low=-9, high=32, text="-1"))
    assert "at least 1" in refusal(widen("d_model", low=0, high=9, text="0"))
    assert "64 bits" in refusal(widen("seed", low=0, high=10**30, text=str(2**63)))
    assert "at most 1,000,000,000,000 values" in refusal(widen("seed", low=0, high=2**62, text=f"0..{2**62}"))
    assert "elements together" in refusal(widen("d_model", low=1, high=2**40, text=str(2**40)))
    assert "axes must be" in refusal(lambda document: parameter(document, "T").update(name="t") or rename(document))
    assert "same name" in refusal(lambda document: document["suite"]["parameters"].append(parameter(document, "T")))


def rename(document):
    document["axes"]["t"] = document["axes"].pop("T")


@pytest.mark.parametrize("text", ["\x1b[2J", "\ud800", "a\nb"])
def test_a_text_that_cannot_be_shown_is_refused_wherever_it_stands(text):
    assert "control characters" in refusal(lambda document: document["provenance"].update(command=text))
    assert "control characters" in refusal(lambda document: document["suite"].update({text: 1}))


def test_a_recording_of_nothing_is_refused():
    assert "must come from" in refusal(lambda document: document["recordings"][1].update(builds=[], arithmetics=[]))


def test_millions_of_violations_are_not_all_looked_at():
    began = time.monotonic()
    assert "recordings[0]" in (violation({**DOCUMENT, "recordings": [0] * 1_000_000}, "golden.schema.json") or "")
    assert time.monotonic() - began < 10


IDS = ["learned_pos_embed/seed=0/d_model=2/T=3", "learned_pos_embed/seed=42/d_model=1/T=0"]


def test_a_subset_is_read_back_as_it_is_and_counted():
    document = copy.deepcopy(json.loads(TEXT))
    document["subset"] = IDS
    manifest = Manifest.from_dict(document)
    assert (manifest.subset, manifest.cases, manifest.elements) == (((0, 2, 3), (42, 1, 0)), 2, 6)
    written = json.loads(manifest.to_json())
    assert (written["subset"], written["counts"]["cases"]) == (IDS, 2)
    assert violation(written, "golden.schema.json") is None
    assert Manifest.from_dict(written) == manifest


@pytest.mark.parametrize(
    "subset",
    [
        [],
        "x",
        [1],
        IDS[::-1],
        [IDS[0], IDS[0]],
        ["learned_pos_embed/seed=0/d_model=2/T=33"],
        ["learned_pos_embed/seed=9/d_model=2/T=3"],
        ["learned_pos_embed.original/seed=0/d_model=2/T=3"],
        ["learned_pos_embed/seed=00/d_model=2/T=3"],
        ["learned_pos_embed/seed=٣/d_model=2/T=3"],
    ],
)
def test_a_subset_that_is_not_distinct_cases_in_the_order_of_the_axes_is_refused(subset):
    document = copy.deepcopy(json.loads(TEXT))
    document["subset"] = subset
    with pytest.raises((KeyError, TypeError, ValueError)):
        Manifest.from_dict(document)
