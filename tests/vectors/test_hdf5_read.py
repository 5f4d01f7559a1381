"""What posvec reads of HDF5 without the HDF5 library: all that it writes itself, and nothing beyond."""

import struct
import zlib

import h5py
import numpy as np
import pytest

from posvec.vectors.files import SHIPPED
from posvec.vectors.hdf5_read import Group, NotPlain, PlainFile
from posvec.vectors.hdf5_write import create_dataset, new_file


def write(path, change):
    """Write a file as posvec does, let ``change`` add to it, and return its path."""
    with new_file(path) as file:
        create_dataset(file, "group/data", (5, 3), "<i4")[...] = np.arange(15).reshape(5, 3)
        change(file)
    return path


def refused(path, name="x"):
    with pytest.raises(NotPlain) as caught, PlainFile(path) as file:
        file[name][:]
    return str(caught.value)


@pytest.mark.parametrize("name", ["learned_pos_embed.h5", "learned_pos_embed.original.h5", "draws.h5"])
def test_the_shipped_files_are_read_as_the_hdf5_library_reads_them(name):
    seen = 0
    with PlainFile(SHIPPED / name) as plain, h5py.File(SHIPPED / name) as library:
        walked = dict(plain.root.walk())
        names = []
        library.visititems(lambda path, _: names.append(path))
        assert sorted(walked) == sorted(names)
        assert plain.root.attrs == dict(library.attrs)
        for path, item in walked.items():
            assert item.attrs == dict(library[path].attrs)
            if not isinstance(item, Group):
                expected = np.asarray(library[path][()])
                assert (item.dtype, item.shape) == (expected.dtype, expected.shape)
                assert item[()].tobytes() == expected.tobytes(), path
                seen += 1
    assert seen >= 17


def test_rows_are_read_across_chunks(tmp_path):
    path = write(
        tmp_path / "x.h5",
        lambda file: file.create_dataset(
            "x", data=np.arange(70, dtype="<u2").reshape(10, 7), chunks=(3, 7), compression="gzip", shuffle=True
        ),
    )
    whole = np.arange(70, dtype="<u2").reshape(10, 7)
    with PlainFile(path) as file:
        for start in range(11):
            for stop in range(start, 12):
                np.testing.assert_array_equal(file["x"][start:stop], whole[start:stop], strict=True)


def test_a_chunk_without_one_of_the_filters_is_read(tmp_path):
    """HDF5 may leave out an optional filter, and says so in the chunk's mask: bit 0 is shuffle here, bit 1 gzip."""
    values = np.arange(100, dtype="<i4")
    shuffled = values.view(np.uint8).reshape(100, 4).T.tobytes()

    def change(file):
        dataset = file.create_dataset("x", (400,), "<i4", chunks=(100,), compression="gzip", shuffle=True)
        stored = [zlib.compress(shuffled), zlib.compress(values.tobytes()), shuffled, values.tobytes()]
        for mask, data in enumerate(stored):
            dataset.id.write_direct_chunk((100 * mask,), data, mask)

    with PlainFile(write(tmp_path / "x.h5", change)) as file:
        np.testing.assert_array_equal(file["x"][:], np.tile(values, 4), strict=True)


def committed(file):
    file["type"] = np.dtype("<i4")
    file.create_dataset("x", (5,), file["type"])


def virtual(file):
    layout = h5py.VirtualLayout((5,), "<i4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (5,))
    file.create_virtual_dataset("x", layout)


def compact(file):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((5,)), plist)


def attribute(file):
    file.create_dataset("x", data=[1])
    file["x"].attrs["y"] = [1, 2]


UNUSUAL = {
    "external link": lambda file: file.__setitem__("x", h5py.ExternalLink("/etc/passwd", "x")),
    "soft link": lambda file: file.__setitem__("x", h5py.SoftLink("/group/data")),
    "external storage": lambda file: file.create_dataset("x", (5,), "<i4", external=[("/etc/passwd", 0, 20)]),
    "virtual": virtual,
    "committed datatype": committed,
    "compact": compact,
    "references": lambda file: file.create_dataset("x", data=[file.ref], dtype=h5py.ref_dtype),
    "variable length": lambda file: file.create_dataset("x", (5,), h5py.vlen_dtype(np.int32)),
    "text of variable length": lambda file: file.create_dataset("x", (5,), h5py.string_dtype()),
    "compound": lambda file: file.create_dataset("x", (5,), [("a", "<i4"), ("b", "<f4")]),
    "enumeration": lambda file: file.create_dataset("x", (5,), h5py.enum_dtype({"a": 1})),
    "array": lambda file: file.create_dataset("x", (5,), np.dtype(("<i4", (3,)))),
    "opaque": lambda file: file.create_dataset("x", (5,), np.dtype("V4")),
    "big endian": lambda file: file.create_dataset("x", (5,), ">i4"),
    "float16": lambda file: file.create_dataset("x", (5,), "<f2"),
    "complex": lambda file: file.create_dataset("x", (5,), "<c8"),
    "lzf": lambda file: file.create_dataset("x", (5,), "<i4", compression="lzf", chunks=(5,)),
    "scale offset": lambda file: file.create_dataset("x", (5,), "<i4", scaleoffset=4, chunks=(5,)),
    "terabytes of holes": lambda file: file.create_dataset("x", (2**40,), "<i4", chunks=(2**16,)),
    "terabytes in one piece": lambda file: file.create_dataset("x", (2**40,), "<i4"),
    "a chunk of gigabytes": lambda file: file.create_dataset("x", (2**29,), "<i4", chunks=(2**29,)),
    "chunks across rows": lambda file: file.create_dataset("x", data=np.zeros((4, 4), "<i4"), chunks=(4, 2)),
    "never stored": lambda file: file.create_dataset("x", (5,), "<i4", chunks=(5,)),
    "null": lambda file: file.create_dataset("x", data=h5py.Empty("<i4")),
    "empty in the second dimension": lambda file: file.create_dataset("x", (2**60, 0), "<i4"),
    "array attribute": attribute,
    "a group": lambda file: file.create_group("x"),
    "missing": lambda _: None,
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_what_posvec_does_not_write_is_refused(tmp_path, kind):
    path = write(tmp_path / "x.h5", UNUSUAL[kind])
    if kind == "array attribute":
        with pytest.raises(NotPlain, match="attribute"), PlainFile(path) as file:
            file["x"].attrs  # noqa: B018 - reading it is the point
    else:
        assert refused(path)


@pytest.mark.parametrize("libver", ["v108", "latest"])
def test_newer_forms_of_the_file_are_refused(tmp_path, libver):
    with h5py.File(tmp_path / "x.h5", "w", libver=libver) as file:
        file["x"] = np.arange(5)
    assert refused(tmp_path / "x.h5")


def test_a_gzip_bomb_is_not_unpacked(tmp_path):
    """40 MB of zeros in a chunk of 40 bytes."""
    packer = zlib.compressobj(9)
    bomb = packer.compress(bytes(40_000_000)) + packer.flush()

    def change(file):
        dataset = file.create_dataset("x", (10,), "<i4", chunks=(10,), compression="gzip")
        dataset.id.write_direct_chunk((0,), bomb[:100])

    assert "compressed data is damaged" in refused(write(tmp_path / "x.h5", change))


def test_groups_within_themselves_end(tmp_path):
    def change(file):
        file["group/again"] = file["group"]

    with pytest.raises(NotPlain, match="too deep"), PlainFile(write(tmp_path / "x.h5", change)) as file:
        list(file.root.walk())


def test_a_tree_or_header_that_leads_back_to_itself_ends(tmp_path):
    path = write(
        tmp_path / "x.h5",
        lambda file: file.create_dataset("x", data=np.zeros(2000, "<i4"), chunks=(2,)),
    )
    content = bytearray(path.read_bytes())
    # A level above the leaves: its first child becomes itself.
    inner = content.index(b"TREE\x01\x01")
    struct.pack_into("<Q", content, inner + 24 + 24, inner)
    path.write_bytes(content)
    assert "index" in refused(path)

    path = write(tmp_path / "y.h5", lambda file: [file.attrs.__setitem__(f"a{i}", i) for i in range(60)])
    content = bytearray(path.read_bytes())
    root = struct.unpack_from("<Q", content, 64)[0]
    at = content.index(struct.pack("<HH", 0x10, 16), root)
    struct.pack_into("<QQ", content, at + 8, root + 16, 1024)
    path.write_bytes(content)
    assert "circle" in refused(path)
