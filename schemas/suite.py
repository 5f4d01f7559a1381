"""What a suite promises: the function under test, its arguments and the layout of what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posvec.schemas.axes import Axis
from posvec.schemas.errors import InvalidArgument
from posvec.schemas.reading import one_of, read

KINDS = ("int", "float", "array")
DTYPES = {"float32": "<f4", "int32": "<i4"}
"""Element types of arrays, with the form in which they are stored and sent: little-endian."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of the function.

    Attributes:
        name: Its name in the signature.
        kind: ``int`` within ``minimum..maximum``, both included; ``float``; or ``array``.
        minimum, maximum: Bounds of an integer; without meaning for the other kinds.
        dtype: Element type of an array, ``float32`` or ``int32``.
        shape: Shape of an array in letters, e.g. ``(B, T, D)``.

    """

    name: str
    kind: str
    minimum: int = 0
    maximum: int = 0
    dtype: str = ""
    shape: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Parameter:
        """Read one entry of :meth:`Suite.to_dict`."""
        name, kind = read(data, "name", str), one_of(read(data, "kind", str), KINDS)
        if kind == "int":
            return cls(name=name, kind=kind, minimum=read(data, "minimum", int), maximum=read(data, "maximum", int))
        if kind == "float":
            return cls(name=name, kind=kind)
        dtype = one_of(read(data, "dtype", str), tuple(DTYPES))
        return cls(name=name, kind=kind, dtype=dtype, shape=read(data, "shape", str))

    def to_dict(self) -> dict[str, Any]:
        """Return the argument as JSON values."""
        if self.kind == "int":
            return {"name": self.name, "kind": self.kind, "minimum": self.minimum, "maximum": self.maximum}
        if self.kind == "float":
            return {"name": self.name, "kind": self.kind}
        return {"name": self.name, "kind": self.kind, "dtype": self.dtype, "shape": self.shape}

    def parse(self, text: str, *, option: str) -> Axis:
        """Read a command line's list of values for this argument; ``option`` names it in errors."""
        return Axis.parse(text, name=option, minimum=self.minimum, maximum=self.maximum)

    def check(self, value: int, *, option: str) -> int:
        """Return ``value`` if the argument allows it.

        Raises:
            InvalidArgument: It does not.

        """
        if not self.minimum <= value <= self.maximum:
            raise InvalidArgument(option, value, f"within {self.minimum}..{self.maximum}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Layout of what the function returns: dtype, rank and, in terms of the arguments, its shape."""

    dtype: str
    rank: int
    shape: str

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Output:
        """Read the output of :meth:`Suite.to_dict`."""
        return cls(dtype=read(data, "dtype", str), rank=read(data, "rank", int), shape=read(data, "shape", str))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One function under test with its contract.

    A golden file carries its suite, so that a verifier needs nothing but the file.

    Attributes:
        name: ``learned_pos_embed``; golden files and case ids begin with it.
        function: Name of the function under test.
        summary: One sentence for people.
        source: Where the contract comes from.
        parameters: The arguments, in order.
        output: Layout of the result.
        coercion: Whether the contract passes the arguments through ``int()``, so that ``"3"`` is allowed.
        default_match: The match level when none is asked for.

    """

    name: str
    function: str
    summary: str
    source: str
    parameters: tuple[Parameter, ...]
    output: Output
    coercion: bool
    default_match: str = "exact"

    def parameter(self, name: str) -> Parameter:
        """Return the parameter called ``name``."""
        return next(parameter for parameter in self.parameters if parameter.name == name)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Suite:
        """Read what :meth:`to_dict` wrote."""
        return cls(
            name=read(data, "name", str),
            function=read(data, "function", str),
            summary=read(data, "summary", str),
            source=read(data, "source", str),
            parameters=tuple(Parameter.from_dict(parameter) for parameter in read(data, "parameters", list)),
            output=Output.from_dict(read(data, "output", dict)),
            coercion=read(data, "coercion", bool),
            default_match=read(data, "default_match", str),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the suite as JSON values."""
        return {
            "name": self.name,
            "function": self.function,
            "summary": self.summary,
            "source": self.source,
            "parameters": [parameter.to_dict() for parameter in self.parameters],
            "output": {"dtype": self.output.dtype, "rank": self.output.rank, "shape": self.output.shape},
            "coercion": self.coercion,
            "default_match": self.default_match,
        }
