"""How near independent float32 code comes: what the slack of the accept intervals is measured with.

``python -m posvec.generator.draw_table.ports`` evaluates ``0.02 * sqrt(2) * erfinv(u)`` over all 2**23 draws
with each ``erfinv`` that is installed, multiplied in either order, and prints how many values leave their
draw's cell and how far beyond the span the worst one is.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import click
import numpy as np
from scipy import special

from posvec.vectors.derive import N_DRAWS, uniform
from posvec.vectors.draws import DrawTable
from posvec.vectors.ulp import Float32, ordered

GILES_CENTRAL: Final = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
"""Coefficients for ``w < 5``; Giles, "Approximating the erfinv function", GPU Computing Gems 2 (2011)."""

GILES_TAIL: Final = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip

_STDDEV: Final = np.float32(0.02)
_SQRT2: Final = np.float32(np.sqrt(2.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """How one port does over all draws.

    Attributes:
        port: which ``erfinv``, and in which order it is scaled.
        outside_cell: values that lie outside the cell of their draw.
        outside_span: values that lie outside the span.
        farthest: ULP from the span to the farthest value.

    """

    port: str
    outside_cell: int
    outside_span: int
    farthest: int


def giles(u: Float32) -> Float32:
    """Return ``erfinv`` as a plain NumPy port of Giles' single-precision polynomial computes it, without FMA.

    Args:
        u: float32 in (-1, 1).

    Returns:
        float32, same shape.

    """
    w = -np.log1p(-u * u)
    central = w < np.float32(5)
    t = np.where(central, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
    p = np.where(central, np.float32(GILES_CENTRAL[0]), np.float32(GILES_TAIL[0]))
    for inner, outer in zip(GILES_CENTRAL[1:], GILES_TAIL[1:], strict=True):
        p = np.where(central, np.float32(inner), np.float32(outer)) + p * t
    result: Float32 = p * u
    return result


def torch_erfinv(u: Float32) -> Float32:
    """Return ``torch.erfinv``, which refines a rational approximation with two Newton steps."""
    import torch

    result: Float32 = torch.erfinv(torch.from_numpy(u)).numpy()
    return result


def ports() -> dict[str, Callable[[Float32], Float32]]:
    """Return the implementations of ``erfinv`` that can be measured here."""
    found: dict[str, Callable[[Float32], Float32]] = {"NumPy, Giles": giles, "SciPy float32": special.erfinv}
    if importlib.util.find_spec("torch"):
        found["PyTorch"] = torch_erfinv
    return found


def measure(table: DrawTable) -> list[Measurement]:
    """Measure every port, with ``erfinv`` scaled twice as eager JAX does and once as compiled JAX does."""
    draws = np.arange(N_DRAWS)
    u = uniform(draws)
    cell_low, cell_high = table.cell(draws)
    low, high = table.span()
    measurements = []
    for name, erfinv in ports().items():
        inverse = erfinv(u)
        for order, values in (
            ("scaled twice", inverse * _SQRT2 * _STDDEV),
            ("scaled once", inverse * (_SQRT2 * _STDDEV)),
        ):
            got = ordered(values)
            beyond = np.maximum(low - got, got - high)
            measurements.append(
                Measurement(
                    port=f"{name}, {order}",
                    outside_cell=int(((got < cell_low) | (got > cell_high)).sum()),
                    outside_span=int((beyond > 0).sum()),
                    farthest=int(max(0, beyond.max())),
                )
            )
    return measurements


def other_uniforms(table: DrawTable, n: int = 1 << 22) -> dict[int, tuple[float, float]]:
    """Return what shares lie outside their cells and their accept intervals with uniforms of more bits.

    The same random words, of which the uniform ``lo + 2 * f`` takes the upper 24 or all 32 bits instead of
    23, and then the exact ``erfinv``, rounded once: as near as code comes that has only the uniform wrong.

    Args:
        table: the draw table.
        n: how many random words.

    Returns:
        By number of bits, two shares between 0 and 1.

    """
    words = np.random.default_rng(0).integers(0, 2**32, n)
    intervals = table.cell(words >> 9), table.accept(words >> 9)
    lo = np.nextafter(np.float32(-1), np.float32(0)).astype(np.float64)
    shares = {}
    for bits in (24, 32):
        u = (lo + (words >> (32 - bits)) / 2 ** (bits - 1)).astype(np.float32)
        inverse = special.erfinv(np.minimum(u, -lo).astype(np.float64))
        got = ordered((0.02 * np.sqrt(2.0) * inverse).astype(np.float32))
        outside = [float(((got < low) | (got > high)).mean()) for low, high in intervals]
        shares[bits] = (outside[0], outside[1])
    return shares


@click.command()
def main() -> None:
    """Print the measurements of all ports, and of uniforms of more bits, as tables."""
    table = DrawTable.load()
    click.echo(f"{'erfinv':32}{'outside own cell':>18}{'outside span':>14}{'farthest, ULP':>15}")
    for m in measure(table):
        click.echo(f"{m.port:32}{m.outside_cell:>18,}{m.outside_span:>14,}{m.farthest:>15}")
    click.echo(f"\n{'uniform':32}{'outside own cell':>18}{'not accepted':>14}")
    for bits, (cell, accept) in other_uniforms(table).items():
        click.echo(f"{f'{bits} bits':32}{cell:>18.1%}{accept:>14.1%}")


if __name__ == "__main__":
    main()
