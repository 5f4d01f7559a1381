"""The draw table: the value of every draw, in every recorded arithmetic, and the cell around it.

``jax.random.normal`` in float32 uses 23 bits of a random word, so a value is a function of one of 2**23
integers. The file beside this module holds that function whole, as recorded from the builds it names;
docs/exactness.md tells how, and why a float32 can be decoded to its draw.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posvec.vectors import draw_file
from posvec.vectors.derive import N_DRAWS
from posvec.vectors.draw_file import DrawTableError
from posvec.vectors.ulp import Float32, Int32, from_ordered, ordered

__all__ = ["DEFAULT_PATH", "Arithmetic", "DrawTable", "DrawTableError", "Recording"]

DEFAULT_PATH: Final = Path(__file__).with_name("draws.h5")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Recording:
    """One way in which an arithmetic was seen to come about.

    Attributes:
        jax: version of JAX, ``0.10.2``.
        machine: what ``platform.machine`` says, ``x86_64``.
        isa: the widest instruction set that XLA could use: ``SSE4_2``, ``AVX``, ``AVX2`` or ``AVX512``.
        mode: ``eager`` or ``jit``.
        path: which code of the compiled kernel: ``body``, or where that differs, in which arrays.

    """

    jax: str
    machine: str
    isa: str
    mode: str
    path: str

    def __str__(self) -> str:
        kernel = "" if self.path == "body" else f", {self.path}"
        return f"JAX {self.jax}, {self.machine} {self.isa}, {self.mode}{kernel}"

    @classmethod
    def from_dict(cls, fields: dict[str, str]) -> Self:
        """Return the recording that :meth:`to_dict` wrote."""
        return cls(**fields)

    def to_dict(self) -> dict[str, str]:
        """Return the fields as JSON stores them."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """One function from draw to value.

    Attributes:
        id: short and stable; the first recording it came from.
        description: how it computes, in a line.
        recordings: all the ways in which it was recorded.

    """

    id: str
    description: str
    recordings: tuple[Recording, ...]


class DrawTable:
    """The draw table of one file. Arrays are read when first needed, checked, and kept in their stored form.

    All indices are draws, 0..2**23 - 1. "Ordered" integers are those of :func:`posvec.vectors.ulp.ordered`:
    one step is one float32.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._use(draw_file.read_header(path))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise DrawTableError(path, f"is damaged: its attributes are not what they should be ({error})") from error

    def _use(self, header: dict[str, Any]) -> None:
        self.canonical: str = header["canonical"]
        self.slack_ulp: int = header["slack_ulp"]
        self.content_sha256: str = header["content_sha256"]
        self._parents = {name: fields["relative_to"] for name, fields in header["arithmetics"].items()}
        self.arithmetics = tuple(
            Arithmetic(
                id=name,
                description=header["arithmetics"][name]["description"],
                recordings=tuple(map(Recording.from_dict, json.loads(header["arithmetics"][name]["recordings"]))),
            )
            for name in json.loads(header["order"])
        )
        self._stored: dict[str, NDArray[Any]] = {}
        self._lock = threading.RLock()

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Open a draw table; only its few attributes are read and checked now.

        Args:
            path: the file; the one that is shipped with posvec if not given.

        Raises:
            DrawTableError: the file is missing, damaged or of another format. The methods raise it too, when
                they load an array that turns out to be damaged.

        """
        return cls(DEFAULT_PATH if path is None else Path(path))

    def values(self, arithmetic_id: str) -> Float32:
        """Return the value of every draw in one arithmetic: a new float32 array, shape ``(2**23,)``.

        Raises:
            KeyError: there is no such arithmetic.

        """
        return from_ordered(self._ordered(arithmetic_id, ...))

    def values_at(self, arithmetic_id: str, draws: NDArray[Any]) -> Float32:
        """Return the values of some draws in one arithmetic, float32, the shape of ``draws``.

        Raises:
            KeyError: there is no such arithmetic.
            IndexError: a draw is out of range.

        """
        return from_ordered(self._ordered(arithmetic_id, _indices(draws)))

    def correctly_rounded(self) -> Float32:
        """Return the float32 nearest to ``0.02 * sqrt(2) * erfinv(u)`` of every draw, shape ``(2**23,)``."""
        return from_ordered(self._base() + self._array(draw_file.CORRECTLY_ROUNDED))

    def correctly_rounded_at(self, draws: NDArray[Any]) -> Float32:
        """Return the correctly rounded values of some draws, float32, the shape of ``draws``."""
        index = _indices(draws)
        return from_ordered(self._base()[index] + self._array(draw_file.CORRECTLY_ROUNDED)[index])

    def span(self) -> tuple[Int32, Int32]:
        """Return lowest and highest of all arithmetics and the correctly rounded value, for every draw.

        Two ordered int32 arrays, shape ``(2**23,)``; both ends belong to the span.
        """
        return self._span(...)

    def accept(self, draws: NDArray[Any]) -> tuple[Int32, Int32]:
        """Return the accept interval of some draws: their span, widened by ``slack_ulp`` on both sides.

        Two ordered int32 arrays of the shape of ``draws``; both ends belong to the interval. Neighbours'
        intervals may overlap: which draw a value belongs to is what :meth:`decode` tells.
        """
        low, high = self._span(_indices(draws))
        return low - np.int32(self.slack_ulp), high + np.int32(self.slack_ulp)

    def cell(self, draws: NDArray[Any]) -> tuple[Int32, Int32]:
        """Return the cells of some draws: the pieces of the number line cut in the middles of the gaps.

        Two ordered int32 arrays of the shape of ``draws``; both ends belong to the cell. The outermost cells
        end where the accept interval does.
        """
        index = _indices(draws)
        return self._cell_starts(index), self._cell_starts(index + 1) - np.int32(1)

    def decode(self, values: NDArray[Any]) -> Int32:
        """Return the draw in whose cell each value lies, int32, the shape of ``values``.

        -1 where a value lies in no cell: beyond both ends of the table, infinite or NaN.
        """
        order = ordered(values)
        # The canonical value of each draw lies in its cell, so only one neighbour can be meant instead.
        nearest = np.searchsorted(self._base(), order, side="right") - 1
        found = nearest + (order >= self._cell_starts(nearest + 1))
        low, high = self.accept(np.array([0, N_DRAWS - 1]))
        inside = (order >= low[0]) & (order <= high[1])
        return np.where(inside, found, -1).astype(np.int32)

    def _cell_starts(self, index: NDArray[np.intp]) -> Int32:
        """Return the first ordered integer of each of these cells; at 2**23 the one after the last cell."""
        below, above = self._span(np.maximum(index - 1, 0))[1], self._span(np.minimum(index, N_DRAWS - 1))[0]
        # halves first: a gap across zero is wider than int32
        starts = below + ((above.astype(np.int64) - below - 1) // 2 + 1)
        starts = np.where(index == 0, above - np.int64(self.slack_ulp), starts)
        starts = np.where(index == N_DRAWS, below + np.int64(self.slack_ulp + 1), starts)
        return starts.astype(np.int32)

    def _span(self, index: Any) -> tuple[Int32, Int32]:
        base = self._base()[index]
        low: Int32 = base - self._array(draw_file.SPAN_BELOW)[index]
        high: Int32 = base + self._array(draw_file.SPAN_ABOVE)[index]
        return low, high

    def _ordered(self, arithmetic_id: str, index: Any) -> Int32:
        parent = self._parents[arithmetic_id]
        if not parent:
            base: Int32 = self._base()[index]
            return base
        stored = self._array(f"{draw_file.ARITHMETICS}/{arithmetic_id}")
        order: Int32 = self._ordered(parent, index) + stored[index]
        return order

    def _base(self) -> Int32:
        with self._lock:
            if "base" not in self._stored:
                steps = draw_file.read_dataset(self.path, draw_file.BASE_STEPS).astype(np.int32)
                wide = draw_file.read_dataset(self.path, draw_file.BASE_WIDE_DRAW)
                wide_step = draw_file.read_dataset(self.path, draw_file.BASE_WIDE_STEP)
                inside = not wide.size or 0 <= wide.min() <= wide.max() < N_DRAWS
                if steps.shape != (N_DRAWS,) or wide.shape != wide_step.shape or not inside:
                    raise DrawTableError(self.path, "is damaged: its steps do not fit together")
                steps[wide] = wide_step
                # wraps where it passes 2**31, and so ends right: int32 is a ring
                self._stored["base"] = np.cumsum(steps, dtype=np.int32)
            return self._stored["base"]

    def _array(self, name: str) -> NDArray[Any]:
        with self._lock:
            if name not in self._stored:
                array = draw_file.read_dataset(self.path, name)
                if array.shape != (N_DRAWS,):
                    raise DrawTableError(self.path, f"is damaged: {name} has {len(array):,} values")
                self._stored[name] = array
            return self._stored[name]


def _indices(draws: ArrayLike) -> NDArray[np.intp]:
    index = np.asarray(draws).astype(np.intp)
    if index.size and not (index.min() >= 0 and index.max() < N_DRAWS):
        raise IndexError(f"draws must be in 0..2**23-1, got {index.min()} to {index.max()}")
    return index
