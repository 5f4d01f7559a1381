import hashlib
import json
import shutil
import struct
from dataclasses import replace

import h5py
import numpy as np
import pytest

from posvec.schemas.errors import ReferenceDisagrees, VectorsError
from posvec.vectors.diff import diff
from posvec.vectors.golden import Golden, content_digest, table_case
from posvec.vectors.ulp import ordered
from tests.vectors.conftest import CANONICAL, OTHER


def other_arithmetic(table):
    """Return the arithmetic that differs most often from the canonical one: any small sweep shows it."""
    sample = np.arange(0, 2**23, 8191)
    expected = table.values_at(table.canonical, sample)
    return max((a.id for a in table.arithmetics), key=lambda a: (table.values_at(a, sample) != expected).sum())


def test_a_case_is_the_prefix_of_the_table_of_its_seed_and_width(make_golden, draw_table):
    golden = make_golden()
    known = golden.known(table_case(golden.name, seed=-1, T=5, d_model=3))
    draws = known.draw
    assert draws.shape == (15,)
    assert known.expected.tobytes() == draw_table.values_at(draw_table.canonical, draws).tobytes()
    low, high = draw_table.accept(draws)
    position = ordered(known.expected)
    assert (position - known.accept_below).tolist() == low.tolist()
    assert (position + known.accept_above).tolist() == high.tolist()
    assert (known.cell_below <= known.accept_below).all()
    assert (known.cell_above <= known.accept_above).all()
    assert golden.known(table_case(golden.name, seed=-1, T=0, d_model=3)).expected.shape == (0,)


def test_every_known_arithmetic_is_in_the_file_recorded_or_derived(make_golden, draw_table):
    other = other_arithmetic(draw_table)
    golden = make_golden(builds=[(OTHER, other)])
    named = [a for recording in golden.recordings for a in recording.arithmetics]
    assert sorted(named) == sorted(a.id for a in draw_table.arithmetics)
    recorded = [recording for recording in golden.recordings if recording.builds]
    assert [recording.builds for recording in recorded] == [(OTHER,)]
    assert other in recorded[0].arithmetics
    assert golden.recordings[0].derived
    assert (golden.manifest.expected_source, golden.recordings[0].label) == ("derived", "JAX 0.10.2 eager, FMA")
    assert draw_table.canonical in golden.recordings[0].arithmetics


def test_builds_with_equal_bytes_are_one_recording_with_several_names(make_golden, draw_table):
    twin = replace(CANONICAL, isa="AVX512")
    golden = make_golden(builds=[(CANONICAL, draw_table.canonical), (twin, draw_table.canonical)])
    assert golden.recordings[0].builds == (CANONICAL, twin)
    assert golden.recordings[0].label == "JAX 0.10.2 eager, FMA"
    assert not golden.recordings[0].derived


def test_merging_keeps_every_recording_and_its_order_does_not_show(make_golden, draw_table):
    other = other_arithmetic(draw_table)
    first = make_golden("a.h5", builds=[(CANONICAL, draw_table.canonical)])
    make_golden("a2.h5", builds=[(OTHER, other)], existing=first)
    second = make_golden("b.h5", builds=[(OTHER, other)])
    make_golden("b2.h5", builds=[(CANONICAL, draw_table.canonical)], existing=second)
    folder = first.path.parent
    assert (folder / "a2.h5").read_bytes() == (folder / "b2.h5").read_bytes()
    assert (folder / "a2.json").read_bytes() == (folder / "b2.json").read_bytes()
    builds = {build for recording in Golden.open(folder / "a2.h5").recordings for build in recording.builds}
    assert builds == {CANONICAL, OTHER}


def test_a_build_recorded_twice_with_other_bytes_keeps_both(make_golden, draw_table):
    first = make_golden("a.h5", builds=[(OTHER, draw_table.canonical)])
    both = make_golden("b.h5", builds=[(OTHER, draw_table.canonical, 1)], existing=first)
    assert sum(OTHER in recording.builds for recording in both.recordings) == 2


def test_a_recording_reads_back_bit_for_bit(make_golden, draw_table):
    other = other_arithmetic(draw_table)
    golden = make_golden(builds=[(OTHER, other)])
    recording = next(recording for recording in golden.recordings if OTHER in recording.builds)
    draws = golden.read_draws(4, 1, 3)
    assert golden.read(recording, 4, 1, 3).tobytes() == draw_table.values_at(other, draws).tobytes()


def test_a_value_outside_its_accept_interval_is_never_written(make_golden, draw_table, tmp_path):
    with pytest.raises(ReferenceDisagrees, match=r"70 ULP.*seed 0, d_model 1, position 0, feature 0.*nothing was"):
        make_golden(builds=[(OTHER, draw_table.canonical, 70)])
    assert list(tmp_path.iterdir()) == []


def test_differences_wider_than_a_byte_are_kept_whole(make_golden, draw_table, monkeypatch):
    monkeypatch.setattr(draw_table, "slack_ulp", 1000)
    golden = make_golden(builds=[(OTHER, draw_table.canonical, 300)])
    recording = next(recording for recording in golden.recordings if OTHER in recording.builds)
    expected = golden.read(golden.recordings[0], 1, 0, 4)
    values = golden.read(recording, 1, 0, 4)
    assert (ordered(values) - ordered(expected)).reshape(-1).tolist() == [300, *[0] * 127]


def test_the_same_content_is_the_same_file(make_golden):
    assert make_golden("a.h5").path.read_bytes() == make_golden("b.h5").path.read_bytes()


def test_the_manifest_beside_the_file_is_the_one_inside(make_golden):
    golden = make_golden()
    with h5py.File(golden.path) as file:
        assert golden.path.with_suffix(".json").read_bytes() == file["manifest"][()]


# Damage


def refused(path):
    with pytest.raises(VectorsError) as caught:
        Golden.open(path)
    return str(caught.value)


def edit(golden, change):
    path = golden.path.with_name("edited.h5")
    shutil.copy(golden.path, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def set_manifest(file, change):
    manifest = json.loads(file["manifest"][()])
    change(manifest)
    del file["manifest"]
    file["manifest"] = np.bytes_((json.dumps(manifest, indent=1) + "\n").encode())


def test_an_edited_value_is_found_by_the_digest(make_golden):
    def change(file):
        file["d_model=3/expected"][0, 0, 0] += 1

    assert "it was damaged or edited" in refused(edit(make_golden(), change))


def test_an_edited_manifest_is_found(make_golden):
    golden = make_golden()

    def command(file):
        set_manifest(file, lambda m: m["provenance"].update(command="posvec generate --seeds=1"))

    assert "it was damaged or edited" in refused(edit(golden, command))
    closed = edit(golden, lambda file: set_manifest(file, lambda m: m.update(extra=1)))
    assert "violates golden.schema.json" in refused(closed)
    missing = edit(golden, lambda file: set_manifest(file, lambda m: m.pop("stream")))
    assert "'stream' is a required property" in refused(missing)
    axis = edit(golden, lambda file: set_manifest(file, lambda m: m["axes"].update(T="0..99")))
    assert "axes.T must be within 0..32" in refused(axis)
    counts = edit(golden, lambda file: set_manifest(file, lambda m: m["counts"].update(cases=3)))
    assert "contradicts itself" in refused(counts)


def test_another_format_or_version_is_said(make_golden):
    golden = make_golden()
    newer = edit(golden, lambda file: file.attrs.__setitem__("format_version", 2))
    assert "format version 2, and this posvec reads version 1" in refused(newer)
    foreign = edit(golden, lambda file: file.attrs.__delitem__("format"))
    assert "no golden file" in refused(foreign)


def test_a_file_that_is_not_there_or_no_hdf5_is_said(tmp_path):
    assert "there is no such golden file" in refused(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("hello")
    assert "is damaged or not a golden file" in refused(tmp_path / "text.h5")
    (tmp_path / "empty.h5").write_bytes(b"")
    assert "is damaged or not a golden file" in refused(tmp_path / "empty.h5")
    assert "is a directory" in refused(tmp_path)


def test_a_truncated_file_is_refused_at_any_length(make_golden):
    golden = make_golden()
    content = golden.path.read_bytes()
    path = golden.path.with_name("short.h5")
    for length in range(0, len(content), len(content) // 40):
        path.write_bytes(content[:length])
        assert refused(path)


def test_a_flipped_bit_is_refused_or_changes_nothing(make_golden):
    golden = make_golden()
    content = bytearray(golden.path.read_bytes())
    path = golden.path.with_name("flipped.h5")
    choose = np.random.default_rng(20).integers(0, len(content) * 8, 150)
    for bit in [*range(0, 96 * 8, 7), *choose.tolist()]:
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            opened = Golden.open(path)
        except VectorsError:
            continue
        # A bit of padding or of an unused field: the content is provably the same.
        assert opened.manifest == golden.manifest


@pytest.mark.parametrize("kind", ["external link", "soft link", "external storage", "virtual", "huge", "shape"])
def test_data_that_lies_elsewhere_or_nowhere_is_refused(make_golden, kind):
    golden = make_golden()
    secret = golden.path.with_name("secret.bin")
    secret.write_bytes(bytes(4 * 4 * 32 * 3))

    def change(file):
        shape = file["d_model=3/draw"].shape
        del file["d_model=3/draw"]
        if kind == "external link":
            file["d_model=3/draw"] = h5py.ExternalLink(str(golden.path), "d_model=3/draw")
        elif kind == "soft link":
            file["d_model=3/draw"] = h5py.SoftLink("/d_model=4/draw")
        elif kind == "external storage":
            file.create_dataset("d_model=3/draw", shape, "<u4", external=[(str(secret), 0, secret.stat().st_size)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape, "<u4")
            layout[:] = h5py.VirtualSource(str(golden.path), "d_model=3/draw", shape)
            file.create_virtual_dataset("d_model=3/draw", layout)
        elif kind == "huge":
            file.create_dataset("d_model=3/draw", shape, "<u4", chunks=True)  # declared, never stored
        else:
            file.create_dataset("d_model=3/draw", (10**6, 10**6), "<u4", chunks=(1, 1000))

    message = refused(edit(golden, change))
    assert ("d_model=3" if kind == "external link" else "d_model=3/draw") in message


def resealed(golden, change):
    """A file whose content was changed and whose digest is that of the change."""

    def seal(file):
        change(file)
        manifest = replace(golden.manifest, content_sha256=content_digest(file, golden.manifest))
        del file["manifest"]
        file["manifest"] = np.bytes_(manifest.to_json().encode())

    return edit(golden, seal)


def test_axes_that_contradict_the_manifest_are_refused_whatever_the_digest(make_golden):
    def change(file):
        file["axes/seed"][0] = 77

    assert "axes/seed does not hold what the manifest says" in refused(resealed(make_golden(), change))


@pytest.mark.parametrize(
    ("dataset", "value", "says"),
    [
        ("expected", np.nan, "an expected value that is not finite"),
        ("draw", 2**23, "a draw above 8388607"),
        ("cell_above", 255, "a cell wider than its accept interval"),
        ("recordings/r01", 127, "a recorded value outside its accept interval"),
    ],
)
def test_values_that_cannot_be_are_refused_whatever_the_digest(make_golden, dataset, value, says):
    def change(file):
        file[f"d_model=3/{dataset}"][0, 1, 2] = value

    opened = Golden.open(resealed(make_golden(), change))
    with pytest.raises(VectorsError, match=says):
        opened.known(table_case(opened.name, seed=0, T=1, d_model=3))
    with pytest.raises(VectorsError, match=says):
        opened.check_values()


def test_more_cases_than_memory_is_taken_for_are_refused(make_golden, monkeypatch):
    golden = make_golden()
    monkeypatch.setattr("posvec.vectors.golden._MOST_CASES", golden.manifest.cases - 1)
    with pytest.raises(VectorsError, match="holds 396 cases, and at most 395"):
        golden.cases()


def test_datasets_that_share_their_bytes_are_refused(make_golden):
    """Thousands of them, in a small file, would take hours to unpack."""
    golden = make_golden(seed="0..9", d_model="64")
    shape = (10, 32, 64)
    shared = ("d_model=64/draw", "d_model=64/accept_below", "d_model=64/accept_above", "d_model=64/cell_below")

    def change(file):
        for name in shared[1:]:
            del file[name]
            file.create_dataset(name, shape, "<u4", chunks=shape, compression="gzip", shuffle=True, fletcher32=True)
            file[name].id.write_direct_chunk((0, 0, 0), b"a place of its own", 0)

    path = edit(golden, change)
    with h5py.File(path) as file:
        draw, *others = (file[name].id.get_chunk_info(0) for name in shared)
    content = bytearray(path.read_bytes())
    for other in others:  # an entry of the index: size, mask, four offsets, address
        at = content.index(struct.pack("<Q", other.byte_offset)) - 40
        assert struct.unpack_from("<I", content, at) == (other.size,)
        struct.pack_into("<I", content, at, draw.size)
        struct.pack_into("<Q", content, at + 40, draw.byte_offset)
    path.write_bytes(content)
    assert "overlap" in refused(path)


# Comparing two files


def test_equal_files_are_equal(make_golden):
    assert diff(make_golden("a.h5"), make_golden("b.h5")).kind == "equal"


def test_other_streams_are_other_draws(make_golden):
    found = diff(make_golden("a.h5"), make_golden("b.h5", stream="original"))
    assert found.kind == "draws"
    assert found.other_draws > 0.99 * found.elements


def test_other_recorded_bytes_are_other_rounding(make_golden, draw_table):
    other = other_arithmetic(draw_table)
    found = diff(
        make_golden("a.h5", builds=[(CANONICAL, draw_table.canonical)]), make_golden("b.h5", builds=[(OTHER, other)])
    )
    assert (found.kind, found.other_expected) == ("rounding", 0)
    assert [(only.file, only.recording.builds) for only in found.recorded_only] == [
        ("first", (CANONICAL,)),
        ("second", (OTHER,)),
    ]
    assert found.recorded_only[1].differing > 0


def test_other_accept_intervals_are_a_difference(make_golden):
    golden = make_golden()

    def change(file):
        file["d_model=3/accept_above"][0, 1, 2] += 1

    found = diff(golden, Golden.open(resealed(golden, change)))
    assert (found.kind, found.other_intervals) == ("intervals", 1)


def test_other_axes_alone_are_coverage(make_golden):
    found = diff(make_golden("a.h5"), make_golden("b.h5", seed="2,1,7", d_model="4,5"))
    assert (found.kind, found.axes) == ("coverage", ("seed", "d_model"))
    assert found.elements == 2 * 32 * 4


def test_the_digest_is_of_the_content(make_golden):
    golden = make_golden()
    digest = hashlib.sha256()
    manifest = replace(golden.manifest, content_sha256="").to_json().encode()
    digest.update(b"manifest text %d\n" % len(manifest) + manifest)
    with h5py.File(golden.path) as file:
        names = [f"axes/{axis}" for axis in ("seed", "T", "d_model")]
        for d_model in (1, 3, 4):
            fixed = ("expected", "draw", "accept_below", "accept_above", "cell_below", "cell_above")
            names += [f"d_model={d_model}/{name}" for name in fixed]
            names += [f"d_model={d_model}/recordings/{recording.id}" for recording in golden.recordings[1:]]
        for name in names:
            array = file[name][()]
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    assert golden.manifest.content_sha256 == digest.hexdigest()
