"""Numbers that were printed with too few digits, or rounded to so many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.report import Explanation, NamedMistake
from posvec.vectors.known import Known
from posvec.vectors.ulp import Float32
from posvec.verifier.judge import Judged
from posvec.verifier.mistakes.catalogue import BY_ID

if TYPE_CHECKING:
    from posvec.verifier.mistakes.diagnose import Run

_FEWEST = 8  # elements: one float in a few is short by chance
_ROUNDING = 8  # ULP by which a right value may be off before it is printed
_MOST = 8  # digits: nine carry every float32


def too_few_digits(run: Run, read: Sequence[Judged]) -> Explanation | None:
    """Return the explanation, if too few digits are all that is wrong with the values of all cases."""
    pairs = [(floats, run.known(one.case)) for one in read if (floats := one.floats) is not None]
    told = short_digits(pairs)
    if told is None:
        return None
    digits, what, format_ = told
    elements = sum(values.size for values, _ in pairs)
    mistake = BY_ID["too-few-digits"]
    named = NamedMistake(
        id=mistake.id,
        title=mistake.title,
        phrase=f"{digits} {what} ({format_} of printf)",
        why=mistake.why,
        fix=mistake.fix,
        code=mistake.code,
        reference=mistake.reference,
    )
    return Explanation(
        mistakes=(named,),
        level="draws",
        evidence=f"All {elements:,} values in {len(read):,} cases have at most {digits} {what}, as {format_} of printf "
        "prints them, and are right as far as they go.",
        cases=len(read),
        elements=elements,
    )


def short_digits(pairs: Sequence[tuple[Float32, Known]]) -> tuple[int, str, str] | None:
    """Return how many digits of which kind arrays were printed with, and how ``printf`` is told so, or None.

    They were, where each value is the float32 nearest to a decimal so short, and that decimal is the expected value
    as far as it goes.
    """
    if not pairs:
        return None
    got = np.concatenate([values for values, _ in pairs]).astype(np.float64)
    expected = np.concatenate([known.expected for _, known in pairs]).astype(np.float64)
    if got.size < _FEWEST or not np.isfinite(got).all():
        return None
    for digits in range(1, _MOST + 1):
        if _fits(got, expected, np.full(got.size, 10.0**digits)):
            return digits, "digits after the point", f"%.{digits}f"
    scale = np.where(expected == 0, 1.0, np.abs(expected))
    for digits in range(1, _MOST + 1):
        if _fits(got, expected, 10.0 ** (digits - 1 - np.floor(np.log10(scale)))):
            return digits, "significant digits", f"%.{digits}g"
    return None


def _fits(got: NDArray[np.float64], expected: NDArray[np.float64], scale: NDArray[np.float64]) -> bool:
    """Whether every value is the float32 nearest to a multiple of ``1 / scale``, at most half of one off."""
    short = np.rint(got * scale) / scale
    rounding = _ROUNDING * np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    near = np.abs(got - expected) <= 0.5 / scale + rounding
    return bool(np.all(near) and np.array_equal(short.astype(np.float32), got.astype(np.float32)))
