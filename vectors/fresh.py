"""Cases that are in no golden file, derived on the spot: nobody can have memorised them."""

from __future__ import annotations

import random
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.schemas.build import Stream
from posvec.schemas.case import Case
from posvec.schemas.manifest import Recording
from posvec.schemas.suite import Suite
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.vectors.golden import first_difference, table_case
from posvec.vectors.known import Known
from posvec.vectors.suites import MAX_T
from posvec.vectors.ulp import ordered

MAX_D_MODEL = 1024


@dataclass(frozen=True, kw_only=True)
class FreshVectors:
    """``count`` cases chosen by ``choice_seed``: seeds from all of 2**32, d_model up to 1024, T from 1 to 32.

    What is known about their outputs is derived when it is first asked for, all at once.
    """

    suite: Suite
    stream: Stream
    count: int
    choice_seed: int
    table: DrawTable = field(repr=False)
    like: Sequence[Recording] = field(repr=False)
    avoid: Container[int] = ()

    @property
    def name(self) -> str:
        """What case ids begin with."""
        return self.suite.name if self.stream == "partitionable" else f"{self.suite.name}.{self.stream}"

    @cached_property
    def recordings(self) -> tuple[Recording, ...]:
        """The recordings of ``like``, then every further arithmetic of the draw table."""
        return arithmetic_recordings(self.table, self.like)

    def cases(self) -> list[Case]:
        """Return the cases; the same ones for the same ``choice_seed`` and ``count``."""
        return list(self._cases.values())

    def known(self, case: Case) -> Known:
        """Return what is known about the output of ``case``."""
        return self._known[case.base_id]

    @cached_property
    def _cases(self) -> dict[str, Case]:
        # random() alone is promised to give the same numbers in every version of Python.
        uniform = random.Random(self.choice_seed).random  # noqa: S311 - a choice of cases, no secret
        cases: dict[str, Case] = {}
        while len(cases) < self.count:
            seed = int(uniform() * 2**32)
            d_model = int(MAX_D_MODEL ** uniform() * (1 + 1e-12))
            T = 1 + int(uniform() * MAX_T)
            if seed not in self.avoid:
                case = table_case(self.name, seed=seed, T=T, d_model=d_model)
                cases.setdefault(case.id, case)
        return cases

    @cached_property
    def _known(self) -> dict[str, Known]:
        cases = self.cases()
        draws = [
            table_draws([case.args["seed"]], case.args["d_model"], stream=self.stream)[0, : case.args["T"]].reshape(-1)
            for case in cases
        ]
        if not cases:
            return {}
        together = derive_known(np.concatenate(draws), self.table, self.recordings)
        known, start = {}, 0
        for case, own in zip(cases, draws, strict=True):
            known[case.id] = _part(together, start, start + own.size, case.args["d_model"])
            start += own.size
        return known


_NEVER = np.iinfo(np.int32).max
"""A difference that no float32 has: what bytes that no arithmetic gives are for other draws is not known."""


def arithmetic_recordings(table: DrawTable, like: Sequence[Recording]) -> tuple[Recording, ...]:
    """Return the recordings of a golden file as arithmetics of the draw table, then all further arithmetics.

    The positions of ``like`` are kept, so that golden and fresh cases of one run can be explained together.
    A recording that several arithmetics give stands for the first of them, the canonical one if it is there.
    """
    chosen: list[Recording] = []
    for recording in like:
        first = sorted(recording.arithmetics, key=lambda a: a != table.canonical)[:1]
        chosen.append(replace(recording, arithmetics=tuple(first)))
    used = {a for recording in chosen for a in recording.arithmetics}
    further = [a.id for a in table.arithmetics if a.id not in used]
    chosen += [
        Recording(id=f"r{len(chosen) + number:02d}", builds=(), arithmetics=(arithmetic,))
        for number, arithmetic in enumerate(further)
    ]
    return tuple(chosen)


def derive_known(draws: NDArray[np.uint32], table: DrawTable, recordings: tuple[Recording, ...]) -> Known:
    """Return everything known about the values of these draws (any number, flat)."""
    expected = table.values_at(recordings[0].arithmetics[0], draws)
    position = ordered(expected).astype(np.int64)
    differences = np.full((len(recordings), draws.size), _NEVER, np.int32)
    for row, recording in zip(differences, recordings, strict=True):
        for arithmetic in recording.arithmetics:
            row[:] = ordered(table.values_at(arithmetic, draws)) - position
    accept_low, accept_high = (np.asarray(bound, np.int64) for bound in table.accept(draws))
    cell_low, cell_high = (np.asarray(bound, np.int64) for bound in table.cell(draws))
    return Known(
        expected=expected,
        shape=expected.shape,
        features=1,
        draw=draws,
        accept_below=position - accept_low,
        accept_above=accept_high - position,
        cell_below=position - np.maximum(cell_low, accept_low),
        cell_above=np.minimum(cell_high, accept_high) - position,
        recordings=differences,
        same_until=first_difference(differences),
    )


def _part(known: Known, start: int, stop: int, features: int) -> Known:
    part: dict[str, Any] = {
        name: getattr(known, name)[start:stop]
        for name in ("expected", "draw", "accept_below", "accept_above", "cell_below", "cell_above")
    }
    recordings = known.recordings[:, start:stop]
    return Known(
        **part,
        shape=(stop - start,),
        features=features,
        recordings=recordings,
        same_until=first_difference(recordings),
    )
