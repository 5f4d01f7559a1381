"""What is fuzzed: each target takes any bytes and may raise nothing. What it finds wrong is an AssertionError.

A target reads the bytes as its part of posvec reads what comes from elsewhere. The one class of errors that the part
declares is caught; any other error, a crash or a hang is a finding, and so is a broken promise.
"""

from __future__ import annotations

import hashlib
import json
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from math import prod
from pathlib import Path
from unittest import mock

import numpy as np

from posvec.schemas.answer import Answer
from posvec.schemas.case_manifest import CaseManifest
from posvec.schemas.errors import VectorsError, printable
from posvec.schemas.validate import violation
from posvec.vectors.case_golden import CaseGolden
from posvec.vectors.diff import diff
from posvec.vectors.golden import Golden, content_digest, parse_manifest
from posvec.vectors.hdf5_read import NotPlain, PlainFile
from posvec.vectors.hdf5_structures import Structures
from posvec.vectors.manifest_text import parse
from posvec.verifier.running.capture import Output
from posvec.verifier.running.frames import Frame, FrameReader, Garbled, answer_from, environment_from
from posvec.verifier.running.lines import Lines
from posvec.verifier.running.messages import answer_from_text
from posvec.verifier.running.startup import explain_unavailable
from posvec.verifier.running.target import Target

CORPUS = Path(__file__).parent / "corpus"
SEED = CORPUS / "seed.h5"
"""A small golden file: two seeds, d_model 1, two recordings of builds. The bytes of ``golden`` are patches to it."""
CASES = CORPUS / "cases.h5"
"""A small golden file of cases."""
TOKEN = b"0123456789abcdef"
_TARGET = Target(text="target:f", module="target")
_PATCH = struct.Struct("<IB")


def frames(data: bytes) -> None:
    """Read a stream from a target's process: its first byte says in which pieces it comes."""
    step = 1 + data[0] if data else 1
    whole, pieces = FrameReader(TOKEN), FrameReader(TOKEN)
    stream = data[1:]
    found = whole.feed(stream)
    in_pieces = [frame for start in range(0, len(stream), step) for frame in pieces.feed(stream[start : start + step])]
    assert (found, whole.problem) == (in_pieces, pieces.problem), "pieces are read otherwise than the whole"
    for frame in found:
        _read_frame(frame)


def _read_frame(frame: Frame) -> None:
    one_sentence(explain_unavailable(_TARGET, "f", frame.header, Output(head=b"", tail=b"", total=0)))
    for text in environment_from(frame.header).values():
        str(text).encode()
    try:
        answer = answer_from(frame, "suite/seed=0")
    except Garbled as error:
        one_sentence(error)
        return
    _check_answer(answer)


def lines(data: bytes) -> None:
    """Read what a program says over the protocol: the first byte says in which pieces it comes."""
    step = 1 + data[0] if data else 1
    whole, pieces = Lines({}, {}), Lines({}, {})
    stream = data[1:]
    found = whole.feed(stream) + whole.end()
    in_pieces = [frame for start in range(0, len(stream), step) for frame in pieces.feed(stream[start : start + step])]
    in_pieces += pieces.end()
    # As texts: a NaN in a message does not equal itself.
    assert repr((found, whole.problem)) == repr((in_pieces, pieces.problem)), "pieces are read otherwise than the whole"
    assert whole.chatter() == pieces.chatter()
    whole.problem.encode()
    for frame in found:
        if "m" in frame.header:
            _check_answer(whole.answer(frame, "suite/seed=0", 0.0))
        else:
            assert frame.header["op"] in ("ready", "unavailable")
            environment_from(frame.header.get("environment"))


def printed(data: bytes) -> None:
    """Read what a program that is started for each case printed."""
    _check_answer(answer_from_text(data, "suite/seed=0", seconds=0.0))


def _check_answer(answer: Answer) -> None:
    """Check that an answer can be shown and that its data is as large as it says."""
    for text in (answer.type_name, answer.dtype or "", answer.memory_order, answer.detail):
        text.encode()
    if answer.data is not None and answer.shape is not None and answer.dtype == "<f4":
        assert np.frombuffer(answer.data, "<f4").size == prod(answer.shape)


def manifest(data: bytes) -> None:
    """Read a manifest."""
    text = data.decode("latin-1")
    try:
        found = parse_manifest(Path("golden.h5"), text)
    except VectorsError as error:
        one_sentence(error)
        return
    assert violation(json.loads(text), "golden.schema.json") is None
    assert found.to_json() == text
    assert found.elements >= 0
    labels = [recording.label for recording in found.recordings]
    assert all(label.isprintable() for label in (found.name, found.command, *labels))


def cases(data: bytes) -> None:
    """Open a golden file of cases: the small one, with up to four patches of ``<where: u16> <byte>``."""
    content = bytearray(CASES.read_bytes())
    for _ in range(1 + data[0] % 4 if data else 0):
        data = data[3:]
        if len(data) >= 3:
            content[int.from_bytes(data[:2], "little") % len(content)] = data[2]
    with written(bytes(content)) as path:
        try:
            opened = CaseGolden.open(path)
        except VectorsError as error:
            one_sentence(error)
            return
        assert opened.manifest.to_json() == _case_contents()[0], "damage was not noticed"
        assert [opened.known(case).expected.tobytes() for case in opened.cases() if not case.must_raise] == (
            _case_contents()[1]
        ), "damage was not noticed"


@cache
def _case_contents() -> tuple[str, list[bytes]]:
    opened = CaseGolden.open(CASES)
    return opened.manifest.to_json(), [opened.known(c).expected.tobytes() for c in opened.cases() if not c.must_raise]


def case_manifest(data: bytes) -> None:
    """Read the manifest of a golden file of cases."""
    text = data.decode("latin-1")
    try:
        found = parse(Path("golden.h5"), text, CaseManifest.from_dict, "golden-cases.schema.json")
    except VectorsError as error:
        one_sentence(error)
        return
    assert violation(json.loads(text), "golden-cases.schema.json") is None
    assert found.to_json() == text
    assert all(case.id.isprintable() and case.axes for case in found.cases)


def golden(data: bytes) -> None:
    """Open a golden file: the small one, patched as the bytes say, and, if the first is odd, sealed again."""
    content, seal = patched(data[1:]), bool(data[:1] and data[0] & 1)
    with written(content) as path:
        if seal:
            path.write_bytes(resealed(path, content) or content)
        _open(path, sealed=seal)


def patches(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield what the bytes ask for: ``<where: u32> <n: u8> <n bytes>`` again and again; n = 0 ends the file there.

    ``where`` counts only the bytes that are read at all: half of the file is room for more.
    """
    at = 0
    while at + _PATCH.size <= len(data):
        offset, size = _PATCH.unpack_from(data, at)
        at += _PATCH.size
        yield used()[offset % len(used())], data[at : at + size]
        at += size


def patched(data: bytes) -> bytes:
    """Return the small golden file with these patches."""
    content = bytearray(seed())
    for offset, piece in patches(data):
        if piece:
            content[offset : offset + len(piece)] = piece
        else:
            del content[offset:]
    return bytes(content)


@cache
def seed() -> bytes:
    """Return the small golden file."""
    return SEED.read_bytes()


@cache
def used() -> list[int]:
    """Return where the bytes are that are read when the small golden file is opened and its values are looked up."""
    ranges: list[range] = []
    read = Structures.read

    def noted(self: Structures, address: int, size: int, what: str) -> bytes:
        ranges.append(range(address, address + size))
        return read(self, address, size, what)

    with mock.patch.object(Structures, "read", noted):
        _values(Golden.open(SEED))
    return sorted(set().union(*ranges))


@cache
def _seed_contents() -> tuple[str, bytes]:
    opened = Golden.open(SEED)
    return opened.manifest.to_json(), _values(opened)


def resealed(path: Path, content: bytes) -> bytes | None:
    """Return a changed file with the digest that goes with the change, as someone who means harm would make it."""
    try:
        with PlainFile(path) as file:
            text = file["manifest"][()].tobytes().decode("latin-1")
            found = parse_manifest(path, text)
            digest = content_digest(file, found)
    except (NotPlain, VectorsError, IndexError):
        return None
    return content.replace(found.content_sha256.encode(), digest.encode())


def _open(path: Path, *, sealed: bool) -> None:
    try:
        opened = Golden.open(path)
    except VectorsError as error:
        one_sentence(error)
        return
    if not sealed:
        assert (opened.manifest.to_json(), _values(opened)) == _seed_contents(), "damage was not noticed"
        return
    try:
        opened.check_values()
        values = _values(opened)
        cases = opened.cases()
        for case in cases[:3] + cases[-3:]:
            known = opened.known(case)
            assert known.expected.shape == (case.args["T"] * case.args["d_model"],)
            assert np.isfinite(known.expected).all()
        assert diff(opened, opened).kind == "equal"
    except VectorsError:
        return
    assert values


def _values(opened: Golden) -> bytes:
    digest = hashlib.sha256()
    seeds = len(opened.manifest.axes["seed"])
    for d_model in opened.manifest.axes["d_model"]:
        for recording in opened.recordings:
            digest.update(opened.read(recording, d_model, 0, seeds).tobytes())
        digest.update(opened.read_draws(d_model, 0, seeds).tobytes())
        digest.update(opened.read_intervals(d_model, 0, seeds).tobytes())
    return digest.digest()


@contextmanager
def written(content: bytes) -> Iterator[Path]:
    """Yield a file with this content, in memory where that is possible, that is removed in the end."""
    memory = Path("/dev/shm")  # noqa: S108 - the name in it is a random one
    handle, name = tempfile.mkstemp(suffix=".h5", dir=memory if memory.is_dir() else None)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)
        yield Path(name)
    finally:
        Path(name).unlink()


def one_sentence(error: Exception) -> None:
    """Check that an error says something, in one line once it is shown."""
    assert str(error)
    assert len(printable(str(error)).splitlines()) == 1


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "frames": frames,
    "lines": lines,
    "printed": printed,
    "manifest": manifest,
    "golden": golden,
    "cases": cases,
    "case_manifest": case_manifest,
}


def corpus(name: str) -> list[Path]:
    """Return the files of past failures, and of what is worth starting from, of a target."""
    return sorted(path for path in (CORPUS / name).iterdir() if path.is_file())
