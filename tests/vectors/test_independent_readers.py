"""Other readers of HDF5 find in the golden files just what h5py finds: pyfive, h5dump, and h5wasm under Node."""

import json
import shutil
import subprocess

import h5py
import numpy as np
import pyfive
import pytest

from posvec.vectors.files import SHIPPED

TABLES, CASES = SHIPPED / "learned_pos_embed.h5", SHIPPED / "t5_relative_position_bucket.h5"


def datasets(path):
    """Return every dataset by name, as h5py reads it."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


@pytest.mark.parametrize("path", [TABLES, CASES], ids=lambda path: path.stem)
def test_pyfive_which_is_python_alone_reads_every_dataset(path):
    expected = datasets(path)
    names = []
    with pyfive.File(path) as file:
        file.visititems(lambda name, item: names.append(name) if isinstance(item, pyfive.Dataset) else None)
        assert sorted(names) == sorted(expected)
        for name, value in expected.items():
            found = file[name][()]
            assert (np.asarray(found).dtype, np.shape(found)) == (np.asarray(value).dtype, np.shape(value)), name
            assert np.asarray(found).tobytes() == np.asarray(value).tobytes(), name
        assert file.attrs["format"] in ("posvec-golden", b"posvec-golden")


@pytest.mark.skipif(shutil.which("h5dump") is None, reason="h5dump is not installed (Debian: hdf5-tools)")
def test_h5dump_of_the_hdf5_group_writes_the_same_numbers(tmp_path):
    for path, name in ((TABLES, "d_model=64/expected"), (CASES, "cases/0003/expected")):
        subprocess.run(
            ["h5dump", "-d", f"/{name}", "-b", "LE", "-o", tmp_path / "out", path], check=True, capture_output=True
        )
        assert (tmp_path / "out").read_bytes() == datasets(path)[name].tobytes()
    listed = subprocess.run(["h5dump", "-n", TABLES], check=True, capture_output=True, text=True).stdout
    assert all(f"/{name}\n" in listed for name in datasets(TABLES))


READ_WITH_NODE = """
import h5wasm from "h5wasm/node";
import { readFileSync } from "fs";
await h5wasm.ready;
const sums = {};
for (const path of process.argv.slice(2)) {
  const file = new h5wasm.File(path, "r");
  const names = JSON.parse(readFileSync(path + ".names"));
  for (const name of names) {
    const value = file.get(name).value;
    const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
    let sum = 0;
    for (let i = 0; i < view.byteLength; i++) sum = (sum * 31 + view.getUint8(i)) % 1000000007;
    sums[path + name] = [view.byteLength, sum];
  }
  file.close();
}
console.log(JSON.stringify(sums));
"""


def polynomial(data):
    total = 0
    for byte in data:
        total = (total * 31 + byte) % 1_000_000_007
    return [len(data), total]


@pytest.mark.slow
def test_h5wasm_under_node_reads_the_same_bytes(tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    installed = subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "h5wasm@0.7"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
    )
    if installed.returncode:
        pytest.skip("npm cannot install h5wasm here: no registry is reachable")
    (tmp_path / "read.js").write_text(READ_WITH_NODE)
    expected = {}
    for path in (TABLES, CASES):
        copy = tmp_path / path.name
        shutil.copyfile(path, copy)
        arrays = {name: value for name, value in datasets(path).items() if np.size(value) and name != "manifest"}
        copy.with_name(f"{path.name}.names").write_text(json.dumps(list(arrays)))
        expected |= {f"{copy}{name}": polynomial(value.tobytes()) for name, value in arrays.items()}
    done = subprocess.run(
        ["node", "read.js", *(tmp_path / path.name for path in (TABLES, CASES))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert json.loads(done.stdout) == expected
