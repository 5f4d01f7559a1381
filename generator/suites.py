"""The suites that can be generated: where their reference is, and the values that are swept by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

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


def case_suite(name: str) -> CaseSuite:
    """Return a suite of :data:`CASE_SUITES`, loading its module and so JAX."""
    suite: CaseSuite = import_module(CASE_SUITES[name]).SUITE
    return suite
