"""Which layout mistakes what came shows, apart from its values."""

from __future__ import annotations

from collections.abc import Sequence

from posvec.verifier.judge import Judged
from posvec.verifier.mistakes.catalogue import CATALOGUE
from posvec.verifier.mistakes.hypothesis import Part
from posvec.verifier.mistakes.parts import Args, Container, Dtype, Shape


def layout_parts(read: Sequence[Judged]) -> tuple[Part, ...] | None:
    """Return the mistakes of dtype and shape that all answers share; None if no known ones are those of all."""
    parts: list[Part] = []
    dtypes = {"<f4" if one.came is None else one.came.dtype for one in read}
    if dtypes != {"<f4"}:
        dtype = next((p for p in _parts(Dtype) if {p.variant.dtype} == dtypes), None)  # type: ignore[attr-defined]
        if dtype is None:
            return None
        parts.append(dtype)
    if any(not _flat(one) for one in read):
        shape = next((p for p in _parts(Shape) if all(_fits(p, one) for one in read)), None)
        if shape is None:
            return None
        parts.append(shape)
    return tuple(parts)


def scalar_part(parts: Sequence[Part]) -> Part | None:
    """Return the mistake of a single number, if it is among them."""
    return next((part for part in parts if part.mistake.id == "scalar"), None)


def container_part(answered: Sequence[Judged]) -> Part | None:
    """Return the mistake of returning such a thing as all answers are, no array."""
    types = {one.came.type_name if one.came is not None else "" for one in answered}
    for part in _parts(Container):
        assert isinstance(part.variant, Container)  # noqa: S101 - that is how they are chosen
        if types == {part.variant.type_name}:
            return part
    return None


def _parts(kind: type[Dtype | Shape | Container]) -> list[Part]:
    return [Part(mistake, v) for mistake in CATALOGUE for v in mistake.variants if isinstance(v, kind)]


def _flat(one: Judged) -> bool:
    return one.came is None or (one.came.values is not None and one.came.shape == (one.came.values.size,))


def _fits(part: Part, one: Judged) -> bool:
    assert isinstance(part.variant, Shape)  # noqa: S101 - that is how they are chosen
    if one.came is None:  # flat float32 of the right length, which some of these shapes are too
        shape: tuple[int, ...] = () if one.values is None else one.values.shape
    else:
        shape = one.came.shape
    args = one.case.args
    return part.variant.fits(shape, Args(args["seed"], args["T"], args["d_model"]))
