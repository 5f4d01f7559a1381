"""The suites that can be generated: where their reference is, and the values that are swept by default."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from posvec.schemas.errors import InvalidArgument, ReferenceDisagrees, first_line
from posvec.schemas.suite import Suite
from posvec.vectors import suites

if TYPE_CHECKING:
    from posvec.generator.case_suite import CaseSuite


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedSuite:
    """A suite, the module under ``references/`` that defines its function, and the default axes."""

    suite: Suite
    reference: str
    default_axes: Mapping[str, str]


LEARNED_POS_EMBED = GeneratedSuite(
    suite=suites.LEARNED_POS_EMBED,
    reference="posvec.generator.references.learned_pos_embed",
    default_axes={
        # Both ends of the 32 bits that a key keeps, -1 which is 2**32 - 1 again, and 2**32 + 5 which is 5.
        "seed": "0,1,2,42,2147483647,2147483648,4294967295,-1,4294967301",
        "T": "0..32",
        # 3 and 4 because JAX 0.12 rounds tables of these widths in a way of its own on AVX-512 CPUs.
        "d_model": "1,2,3,4,8,16,64",
    },
)

_REFERENCES = "posvec.generator.references"

_CASE_SUITES = (
    "learned_pos_embed_add",
    "learned_pos_embed_decode",
    "token_pos_embed",
    "bert_embed",
    "vit_embed",
    "sinusoidal_pos_encoding",
    "sinusoidal_pos_encoding_concat",
    "rope_interleaved",
    "rope_half",
    "alibi_bias",
    "t5_relative_position_bucket",
)

CASE_SUITES: Mapping[str, str] = {name: f"{_REFERENCES}.{name}" for name in _CASE_SUITES}
"""The suites whose golden files are lists of cases, and the module that defines each; it imports JAX."""


def find_case_suites(name: str) -> list[tuple[CaseSuite, str]]:
    """Return the suites that ``--suite`` names, each with its name as a command spells it.

    ``name`` is one of :data:`CASE_SUITES`, ``all`` of these, or ``path/file.py:attribute``, which is run.

    Raises:
        InvalidArgument: It is none of these, or the attribute is no suite.

    """
    if name == "all":
        return [(case_suite(known), known) for known in CASE_SUITES]
    if name in CASE_SUITES:
        return [(case_suite(name), name)]
    where, _, attribute = name.rpartition(":")
    if not where.endswith(".py") or not attribute.isidentifier():
        near = get_close_matches(name, CASE_SUITES, n=1)
        hint = f"did you mean {near[0]}?" if near else "`posvec suites` lists them"
        raise InvalidArgument("--suite", name, "the name of a suite, all, or path/file.py:name", hint=hint)
    return [(_from_file(Path(where), attribute), name)]


def _from_file(path: Path, attribute: str) -> CaseSuite:
    from posvec.generator.case_suite import CaseSuite

    if not path.is_file():
        raise InvalidArgument("--suite", str(path), "a file that is there")
    sys.path.insert(0, str(path.resolve().parent))
    spec = spec_from_file_location(f"posvec_suite_{path.stem}", path)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - its name ends in .py
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        said = f"{path} raised {type(error).__name__} when it was loaded: {first_line(error)}."
        raise ReferenceDisagrees(said) from error
    found = getattr(module, attribute, None)
    if not isinstance(found, CaseSuite):
        names = [name for name, value in vars(module).items() if isinstance(value, CaseSuite)]
        hint = f"it defines {', '.join(names)}" if names else "it defines none"
        raise InvalidArgument("--suite", attribute, f"the name of a CaseSuite in {path}", hint=hint)
    return found


def case_suite(name: str) -> CaseSuite:
    """Return a suite of :data:`CASE_SUITES`, loading its module and so JAX."""
    suite: CaseSuite = import_module(CASE_SUITES[name]).SUITE
    return suite
