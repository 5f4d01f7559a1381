"""Writing HDF5 files so that the same content is the same bytes; :mod:`posvec.vectors.hdf5_read` reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np

from posvec.vectors.output_file import OutputFile


def create_dataset(file: h5py.File, name: str, shape: tuple[int, ...], dtype: str) -> h5py.Dataset:
    """Create a dataset, compressed and checksummed unless it is empty, without times, readable by any HDF5 ≥ 1.8."""
    if 0 in shape or not shape:
        return file.create_dataset(name, shape, dtype, track_times=False)
    row = max(1, int(np.prod(shape[1:], dtype=np.int64)))
    chunk = (max(1, min(shape[0], 262_144 // row)), *shape[1:])
    return file.create_dataset(
        name,
        shape,
        dtype,
        chunks=chunk,
        compression="gzip",
        compression_opts=6,
        shuffle=True,
        fletcher32=True,
        track_times=False,
    )


@contextmanager
def new_file(path: Path) -> Iterator[h5py.File]:
    """Create ``path`` in the oldest format that HDF5 writes, which every reader knows.

    Raises:
        OSError: The file cannot be written; an error of the disk is raised when the block ends.

    """
    with OutputFile(path) as output:
        try:
            with h5py.File(output, "w", libver="earliest", track_order=False) as file:
                yield file
        finally:
            output.check()
