"""The typed reading of a manifest refuses whatever the schema refuses, so that a run can do without the schema."""

import copy
import json

import pytest

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
        assert violation(json.loads(text), "golden.schema.json") is None
        assert Manifest.from_dict(json.loads(text)).to_json() == text


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
