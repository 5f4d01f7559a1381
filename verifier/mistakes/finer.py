"""A uniform of more than 23 bits: values between their draw and the next one, where the further bits put them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from posvec.schemas.report import Explanation, NamedMistake
from posvec.verifier.decode import finer_uniform_bits
from posvec.verifier.judge import Judged
from posvec.verifier.mistakes.catalogue import BY_ID

if TYPE_CHECKING:
    from posvec.verifier.mistakes.diagnose import Run


def finer_uniform(run: Run, read: Sequence[Judged]) -> Explanation | None:
    """Return the explanation, if the values of all cases tell so many bits; which they do on the whole only."""
    pairs = [(one.case, floats, run.known(one.case)) for one in read if (floats := one.floats) is not None]
    told = finer_uniform_bits(pairs, stream=run.stream)
    if told is None:
        return None
    bits, within, elements = told
    mistake = BY_ID["finer-uniform"]
    phrase = f"a uniform of {bits} bits"
    return Explanation(
        mistakes=(
            NamedMistake(
                id=mistake.id,
                title=f"The uniform has {bits} bits instead of 23",
                phrase=phrase,
                why=mistake.why,
                fix=mistake.fix,
                code=mistake.code,
                reference=mistake.reference,
            ),
        ),
        level="draws",
        evidence=f"{within:,} of {elements:,} values in {len(read):,} cases lie within a draw of the right one, "
        "between draws just where the further bits of the random words put them.",
        cases=len(read),
        elements=elements,
    )
