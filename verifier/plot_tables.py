"""The tables that ``posvec plot`` draws: of a case, of any seed, or the sinusoidal one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from posvec.schemas.build import STREAMS, Stream
from posvec.schemas.errors import InvalidArgument
from posvec.schemas.suite import Suite
from posvec.vectors.case_golden import open_golden
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.vectors.files import DEFAULT_SUITE, file_name, locate
from posvec.vectors.golden import table_case
from posvec.vectors.suites import LEARNED_POS_EMBED, MAX_T
from posvec.verifier.plots import LARGEST, TITLE, Picture

BASE = 10_000
_TABLE = re.compile(r"(learned_pos_embed(?:\.original)?)/seed=(-?\d{1,19})/d_model=(\d{1,7})/T=(\d{1,2})", re.ASCII)


def learned(*, seed: int, T: int, d_model: int, stream: Stream) -> Picture:
    """Return a learned table as JAX 0.10.2 initialises it, of any seed: float32, shape ``(T, d_model)``.

    Raises:
        InvalidArgument: An argument is out of range.

    """
    for name, value in (("seed", seed), ("T", T), ("d_model", d_model)):
        LEARNED_POS_EMBED.parameter(name).check(value, option=f"--{name.replace('_', '-')}")
    if d_model > LARGEST:
        raise InvalidArgument("--d-model", d_model, f"at most {LARGEST:,}, to be seen")
    table = DrawTable.load()
    values = table.values_at(table.canonical, table_draws([seed], d_model, stream=stream, rows=MAX_T)[0, :T])
    name = file_name(DEFAULT_SUITE.name, stream).removesuffix(".h5")
    return Picture(title=table_case(name, seed=seed, T=T, d_model=d_model).id, values=values)


def sinusoidal(*, T: int, d_model: int) -> Picture:
    """Return the sinusoidal table, float64 of shape ``(T, d_model)``.

    Feature ``2 i`` of position ``t`` is ``sin(t / 10000 ** (2 i / d_model))``, feature ``2 i + 1`` the cosine of the
    same: Vaswani et al., Attention Is All You Need, section 3.5.
    """
    feature = np.arange(d_model)
    angle = np.arange(T)[:, None] / BASE ** (2 * (feature // 2) / d_model)
    values = np.where(feature % 2 == 0, np.sin(angle), np.cos(angle))
    return Picture(title=f"sinusoidal, T={T}, d_model={d_model}, base={BASE}", values=values)


def of_case(case_id: str, file: Path | None, *, option: str) -> Picture:
    """Return the expected array of a case: of a golden file, else of the shipped ones; a learned table of any seed.

    Raises:
        InvalidArgument: There is no such case, or it must raise.
        VectorsError: There is no such file, or it is damaged.

    """
    match = _TABLE.fullmatch(case_id)
    if file is None and match is not None:
        stream = "original" if match[1].endswith(".original") else "partitionable"
        return learned(seed=int(match[2]), d_model=int(match[3]), T=int(match[4]), stream=_stream(stream))
    name = case_id.split("/")[0]
    suite, _, stream = name.partition(".")
    golden = open_golden(locate(file, _stream(stream), suite=suite))
    cases = golden.cases()
    found = [case for case in cases if case.id == case_id]
    if file is not None and not found:  # the same case of the other stream, or the end of an id
        end = case_id.partition("/")[2] if "/" in case_id and "=" not in suite else case_id
        found = [case for case in cases if case.id.partition("/")[2] == end]
    hint = f"`posvec info {golden.path}` says which are in it" if file else f"`posvec show --suite {suite}` lists them"
    if not found:
        allowed = f"the id of a case in {golden.path}" if file else "the id of a case"
        raise InvalidArgument(option, case_id, allowed, hint=hint)
    if found[0].must_raise:
        raise InvalidArgument(option, case_id, "a case that returns something: this one must raise")
    known = golden.known(found[0])
    rows, columns = _axes(golden.suite)
    return Picture(title=found[0].id, values=known.expected.reshape(-1, known.features), rows=rows, columns=columns)


def titled(picture: Picture, title: str) -> Picture:
    """Return the picture under another title, of which the end is shown if it is long, as of a path."""
    return replace(picture, title=title if len(title) <= TITLE else f"…{title[1 - TITLE :]}")


def _axes(suite: Suite) -> tuple[str, str]:
    """Return what the rows and columns of a suite's output are, where several axes are rows one after the other."""
    names = [part.strip() for part in suite.output.shape.strip("()").split(",") if part.strip()]
    columns = "feature d" if suite.output.rank == 1 or names[-1] in ("D", "d_model") else names[-1]
    leading = names[:-1] if suite.output.rank > 1 else ["T"]
    rows = f"row of ({', '.join(leading)})" if len(leading) > 1 else leading[0]
    return ("position t" if rows == "T" and columns == "feature d" else rows), columns


def _stream(text: str) -> Stream:
    return next((stream for stream in STREAMS if stream == text), "partitionable")
