"""Values are held against draws derived without JAX; a changed rounding is told from changed draws."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from posvec.generator.check import judge
from posvec.generator.crosscheck import Difference, Rounding, check_draws, compare
from posvec.generator.sweep import Sweep
from posvec.schemas.axes import Axis
from posvec.schemas.build import Build
from posvec.schemas.errors import ReferenceDisagrees
from posvec.schemas.manifest import Recording
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.vectors.ulp import Float32, from_ordered, ordered

SEEDS, WIDTHS = Axis.of((0, -1)), Axis.of((2,))
BUILD = Build(
    jax="9.9.9", jaxlib="9.9.9", flax="9", mode="eager", platform="linux", machine="x86_64", backend="cpu",
    isa="AVX2", cpu_isa="AVX2",
)  # fmt: skip


@pytest.fixture(scope="module")
def table() -> DrawTable:
    return DrawTable.load()


@pytest.fixture
def values(table: DrawTable) -> Float32:
    draws = table_draws(list(SEEDS), 2, stream="partitionable")
    return table.values_at(table.canonical, draws)


def sweep_of(folder: Path, values: Float32) -> Sweep:
    result = Sweep(build=BUILD, seeds=SEEDS, folder=folder)
    values.astype("<f4").tofile(result.path(2))
    return result


def nearest_to_zero(values: Float32) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(np.abs(values).argmin(), values.shape))


def moved(values: Float32, ulp: int) -> Float32:
    """Return ``values`` with the element nearest to zero moved, whose draw owns thousands of float32."""
    order = ordered(values)
    order[nearest_to_zero(values)] += ulp
    return from_ordered(order)


def golden_of(values: Float32, *builds: Build) -> SimpleNamespace:
    recording = Recording(id="r00", builds=builds, arithmetics=("some",))
    return SimpleNamespace(
        recordings=(recording,),
        manifest=SimpleNamespace(axes={"seed": SEEDS, "d_model": WIDTHS}),
        read=lambda _recording, _d_model, start, stop: values[start:stop],
    )


def test_values_of_a_known_arithmetic_are_named(tmp_path, table, values):
    rounding = check_draws(sweep_of(tmp_path, values), d_models=WIDTHS, stream="partitionable", table=table)
    assert (rounding.elements, rounding.unknown) == (128, 0)
    assert table.canonical in rounding.same_as


def test_a_rounding_of_the_right_draw_that_no_arithmetic_has_is_counted(tmp_path, table, values):
    rounding = check_draws(sweep_of(tmp_path, moved(values, 3)), d_models=WIDTHS, stream="partitionable", table=table)
    assert rounding == Rounding(elements=128, unknown=1, same_as=())


def test_another_draw_is_refused_and_the_element_named(tmp_path, table, values):
    row, t, d = nearest_to_zero(values)
    named = rf"seed {list(SEEDS)[row]}, d_model 2, position {t}, feature {d}, .* 1 of 128 elements"
    with pytest.raises(ReferenceDisagrees, match=named):
        check_draws(sweep_of(tmp_path, moved(values, 10_000_000)), d_models=WIDTHS, stream="partitionable", table=table)


def test_the_other_stream_is_refused(tmp_path, table, values):
    with pytest.raises(ReferenceDisagrees, match="seed 0, d_model 2, position 0, feature 0"):
        check_draws(sweep_of(tmp_path, values), d_models=WIDTHS, stream="original", table=table)


@pytest.mark.parametrize(
    ("ulp", "expected"),
    [
        (0, Difference(elements=128, differ=0, other_draw=0, max_ulp=0)),
        (-2, Difference(elements=128, differ=1, other_draw=0, max_ulp=2)),
        (10_000_000, Difference(elements=128, differ=1, other_draw=1, max_ulp=0)),
    ],
)
def test_a_difference_is_of_the_rounding_or_of_the_draw(tmp_path, table, values, ulp: int, expected: Difference):
    got = compare(
        sweep_of(tmp_path, moved(values, ulp)), d_models=WIDTHS,
        read=lambda _, start, stop: values[start:stop], table=table,
    )  # fmt: skip
    assert got == expected


@pytest.mark.parametrize(
    ("ulp", "holds", "words"),
    [
        (0, True, "returns the expected values bit for bit, in 128 elements"),
        (2, False, "by at most 2 ULP; the draws are the same and only the rounding changed; it equals no recording"),
        (10_000_000, False, "the random draws changed in 1 of them"),
    ],
)
def test_a_build_that_is_not_recorded_must_equal_expected(tmp_path, table, values, ulp, holds, words):
    verdict = judge(golden_of(values), sweep_of(tmp_path, moved(values, ulp)), table=table)
    assert (verdict.holds, verdict.recorded) == (holds, False)
    assert words in verdict.sentence()
    assert BUILD.id in verdict.sentence()


def test_a_recorded_build_must_equal_its_own_recording(tmp_path, table, values):
    verdict = judge(golden_of(moved(values, 1), BUILD), sweep_of(tmp_path, values), table=table)
    assert (verdict.holds, verdict.recorded) == (False, True)
    assert "differs from its own recording" in verdict.sentence()
