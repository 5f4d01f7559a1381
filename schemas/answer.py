"""What came back from a target for one case, before anything is judged. All of it is untrusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AnswerKind = Literal["array", "other", "raised", "timeout", "crash", "not-run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A target's answer to one case.

    Attributes:
        case_id: The case it answers.
        kind: ``array`` (NumPy, JAX or Torch array: dtype, shape and data are set), ``other`` (returned something
            else: ``type_name`` says what), ``raised``, ``timeout``, ``crash`` or ``not-run``.
        type_name: Type of what was returned, e.g. ``numpy.ndarray``, ``list``.
        dtype: NumPy's dtype string with byte order (``<f4``), or a name such as ``bfloat16``.
        shape: Shape of the array; also of a nested list that is regular, if that is easily known.
        data: Raw bytes in C (row-major, content) order in the dtype's byte order; None where the dtype has no plain
            bytes (object) or the array is larger than the limit.
        memory_order: ``C``, ``F`` or ``strided``.
        detail: One paragraph for people: the exception's traceback, the signal, what the list held.
        seconds: Time the call took, as the target's process measured it (timeout: the limit).
        from_program: Whether a program answered, not a Python callable: then ``other`` says in ``detail`` what is
            wrong with it, and ``array`` was text or bytes.

    """

    case_id: str
    kind: AnswerKind
    type_name: str = ""
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    data: bytes | None = None
    memory_order: str = ""
    detail: str = ""
    seconds: float = 0.0
    from_program: bool = False
