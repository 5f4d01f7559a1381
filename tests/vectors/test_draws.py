"""The draw table: its proof over all draws, its reader, and what it refuses."""

import shutil
import time
from fractions import Fraction

import h5py
import numpy as np
import pytest

from posvec.vectors import derive, draw_file
from posvec.vectors.draws import DEFAULT_PATH, DrawTable, DrawTableError
from posvec.vectors.ulp import from_ordered, ordered, ulp_distance

EVERY = np.arange(derive.N_DRAWS)


@pytest.fixture(scope="module")
def table():
    return DrawTable.load()


@pytest.fixture(scope="module")
def orders(table):
    """Every arithmetic and the correctly rounded value, as ordered integers over all draws."""
    values = {arithmetic.id: table.values(arithmetic.id) for arithmetic in table.arithmetics}
    return {name: ordered(value) for name, value in (values | {"rounded": table.correctly_rounded()}).items()}


def test_theorem_over_all_draws(orders, table, capsys):
    """Every arithmetic is strictly increasing, and the spans of neighbouring draws are disjoint."""
    for name, order in orders.items():
        assert np.all(order[1:] > order[:-1]), name
    low = np.minimum.reduce(list(orders.values()))
    high = np.maximum.reduce(list(orders.values()))
    gaps = low[1:].astype(np.int64) - high[:-1]
    with capsys.disabled():
        print(f"\n{len(EVERY):,} draws, {len(orders)} values each: smallest gap {gaps.min()} ULP")
    assert gaps.min() >= 1
    span_low, span_high = table.span()
    assert np.array_equal(span_low, low)
    assert np.array_equal(span_high, high)


def test_every_value_decodes_to_its_draw(orders, table):
    """All recorded values of all 2**23 draws lie in their own cells and accept intervals."""
    cell_low, cell_high = table.cell(EVERY)
    accept_low, accept_high = table.accept(EVERY)
    assert np.array_equal(cell_high[:-1] + 1, cell_low[1:])
    for name, order in orders.items():
        assert np.all((cell_low <= order) & (order <= cell_high)), name
        assert np.all((accept_low < order) & (order < accept_high)), name
    sample = EVERY[::97]
    for order in orders.values():
        assert np.array_equal(table.decode(from_ordered(order[sample])), sample)


def test_cells_are_cut_in_the_middle_of_the_gaps(table):
    """A boundary is as far from one span as from the next, to within the one ULP of rounding."""
    low, high = table.span()
    cell_low, cell_high = table.cell(EVERY)
    below = low[1:].astype(np.int64) - cell_low[1:]
    above = cell_high[:-1].astype(np.int64) - high[:-1]
    assert set(np.unique(below - above)) <= {0, 1}


def test_the_ends_of_the_line_decode_to_no_draw(table):
    ends = np.array([cells[i] for cells, i in zip(table.cell(EVERY[[0, -1]]), (0, 1), strict=True)])
    assert table.decode(from_ordered(ends)).tolist() == [0, derive.N_DRAWS - 1]
    outside = np.concatenate([from_ordered(np.add(ends, [-1, 1])), [-np.inf, np.inf, np.nan, -np.nan]]).astype("f4")
    assert table.decode(outside).tolist() == [-1] * 6


def test_zeros_decode_to_the_draws_beside_zero(table):
    """No value is zero; both zeros fall into the cells of the two draws around it."""
    assert set(table.decode(np.array([-0.0, 0.0], np.float32)).tolist()) <= {2**22 - 1, 2**22}


def test_accept_is_the_span_and_the_stored_slack(table):
    draws = np.array([[0, 1], [2**22, 2**23 - 1]])
    low, high = (end[draws] for end in table.span())
    accept_low, accept_high = table.accept(draws)
    assert accept_low.shape == draws.shape
    assert np.array_equal(low - accept_low, np.full((2, 2), table.slack_ulp))
    assert np.array_equal(accept_high - high, np.full((2, 2), table.slack_ulp))


def test_values_at_some_draws_are_those_of_the_whole_array(table):
    draws = np.random.default_rng(0).integers(0, derive.N_DRAWS, (7, 11))
    for arithmetic in table.arithmetics:
        whole = table.values(arithmetic.id)[draws]
        assert np.array_equal(table.values_at(arithmetic.id, draws).view("i4"), whole.view("i4"))
    assert np.array_equal(table.correctly_rounded_at(draws), table.correctly_rounded()[draws])


@pytest.mark.parametrize("draw", [-1, derive.N_DRAWS])
def test_a_draw_out_of_range_is_refused(table, draw):
    for method in (table.accept, table.cell, lambda d: table.values_at(table.canonical, d)):
        with pytest.raises(IndexError, match=f"draws must be in 0..2\\*\\*23-1, got {draw}"):
            method(np.array([draw]))


def test_canonical_is_jax_0_10_2_eager_with_fma(table):
    (canonical,) = [a for a in table.arithmetics if a.id == table.canonical]
    assert any((r.jax, r.mode, r.path) == ("0.10.2", "eager", "body") for r in canonical.recordings)
    assert len({a.id for a in table.arithmetics}) == len(table.arithmetics) >= 11


def test_recorded_stages_have_the_canonical_values(table):
    """The float32 bits of the recorded derivation cases come out of seed, draw and table."""
    from .test_derive import CASES

    for case in CASES:
        draws = derive.table_draws([case["seed"]], case["d_model"], stream=case["stream"]).reshape(-1)[:8]
        assert table.values_at(table.canonical, draws).view("u4").tolist() == case["value_bits"]


@pytest.mark.parametrize("jitted", [False, True])
def test_installed_jax_gives_values_of_the_table(table, jitted):
    """The literal module, 40 seeds at each of five widths, computes what some recorded arithmetic gives."""
    jax = pytest.importorskip("jax")
    linen = pytest.importorskip("flax.linen")

    class LearnedPos(linen.Module):
        d_model: int

        @linen.compact
        def __call__(self):
            return self.param("pos_embed", linen.initializers.normal(stddev=0.02), (32, self.d_model))

    seeds = np.random.default_rng(7).integers(0, 2**31, 40)
    with jax.threefry_partitionable(True):
        for d_model in (1, 3, 6, 17, 64):
            init = lambda key, d=d_model: LearnedPos(d).init(key)["params"]["pos_embed"]  # noqa: E731
            init = jax.jit(init) if jitted else init
            got = ordered(np.stack([np.asarray(init(np.array([0, seed], np.uint32))) for seed in seeds]))
            draws = derive.table_draws(seeds, d_model, stream="partitionable")
            known = [ordered(table.values_at(a.id, draws)) == got for a in table.arithmetics]
            assert np.logical_or.reduce(known).all(), d_model
            low, high = table.accept(draws)
            assert np.all((low <= got) & (got <= high))


def test_correct_rounding_agrees_with_mpmath(table):
    """500 random draws, the extremes and the middle, rounded anew from 40 digits."""
    oracle = pytest.importorskip("posvec.generator.draw_table.oracle")
    random = np.random.default_rng(11).integers(0, derive.N_DRAWS, 500)
    draws = np.concatenate([random, [0, 1, 2**22 - 1, 2**22, 2**23 - 1]])
    expected = [oracle.round_exactly(int(draw)) for draw in draws]
    assert table.correctly_rounded_at(draws).tolist() == expected


def test_correct_rounding_decides_a_tie_exactly():
    """An exact value just above a rounding tie goes up, however near the tie is."""
    oracle = pytest.importorskip("posvec.generator.draw_table.oracle")
    value = np.float32(oracle.round_exactly(5_000_000))
    exact = Fraction(str(oracle.exact_value(5_000_000)))
    neighbours = [Fraction(float(np.nextafter(value, np.float32(s)))) for s in (-1, 1)]
    assert abs(exact - Fraction(float(value))) < min(abs(exact - n) for n in neighbours)


def test_every_arithmetic_is_near_the_truth(orders):
    """No build is farther off than the 59 ULP that docs/exactness.md shows."""
    rounded = from_ordered(orders["rounded"])
    for name, order in orders.items():
        assert np.abs(ulp_distance(from_ordered(order), rounded)).max() <= 59, name


def test_the_theorem_refuses_what_breaks_it(orders):
    """A value moved onto its neighbour's, or past it, stops the build and is named."""
    theorem = pytest.importorskip("posvec.generator.draw_table.theorem")
    good = {"good": orders["rounded"]}
    assert theorem.prove(good, orders["rounded"]).smallest_gap >= 2
    for moved, statement in ((0, "is not strictly increasing at draw 4000000"), (-1, "touch")):
        bad = orders["rounded"].copy()
        bad[4_000_000] = bad[4_000_001] + moved
        other = orders["rounded"].copy()
        other[4_000_001] -= 1
        with pytest.raises(theorem.TheoremBrokenError, match=statement) as caught:
            theorem.prove({"good": orders["rounded"], "other": other, "bad": bad}, orders["rounded"])
        assert caught.value.draws.tolist() == [4_000_000]


def test_independent_float32_code_lies_in_the_accept_intervals(table):
    """Every port that is installed stays within the slack, and one element in a thousand leaves its cell."""
    ports = pytest.importorskip("posvec.generator.draw_table.ports")
    measurements = ports.measure(table)
    assert len(measurements) >= 4
    for measured in measurements:
        assert measured.farthest <= table.slack_ulp, measured
        assert measured.outside_cell <= derive.N_DRAWS / 1000, measured


def test_uniforms_of_more_bits_leave_their_cells(table):
    """A hundred times as many elements as the worst honest port has, so a run tells them apart."""
    ports = pytest.importorskip("posvec.generator.draw_table.ports")
    for bits, (outside_cell, _) in ports.other_uniforms(table, 1 << 18).items():
        assert outside_cell > 0.1, bits


@pytest.mark.slow
def test_writing_is_reproducible_and_keeps_everything(orders, table, tmp_path):
    """The table's own content, written twice, gives equal files and the digest of the original."""
    store = pytest.importorskip("posvec.generator.draw_table.store")
    theorem = pytest.importorskip("posvec.generator.draw_table.theorem")
    arithmetics = {name: order for name, order in orders.items() if name != "rounded"}
    proof = theorem.prove(arithmetics, orders["rounded"])
    paths = [tmp_path / "first.h5", tmp_path / "second.h5"]
    for path in paths:
        store.write(path, table.arithmetics, arithmetics, table.canonical, orders["rounded"], proof)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert DrawTable.load(paths[0]).content_sha256 == table.content_sha256
    assert sorted(tmp_path.iterdir()) == paths


def test_a_recording_that_breaks_the_theorem_leaves_the_file_alone(orders, table, tmp_path, monkeypatch):
    """The builder names the draw and writes nothing."""
    build = pytest.importorskip("posvec.generator.draw_table.build")
    path = tmp_path / "draws.h5"
    path.write_bytes(b"as it was")
    monkeypatch.setattr(
        build.oracle,
        "correctly_rounded",
        lambda: build.oracle.CorrectlyRounded(
            values=from_ordered(orders["rounded"]), n_near_ties=0, worst_residual=0.0
        ),
    )
    new = orders[table.canonical].copy()
    new[1234] = new[1235]
    collection = build.Collection()
    recording = build.Recording(jax="0.99.0", machine="x86_64", isa="AVX512", mode="eager", path="body")
    assert collection.add(new, recording) == ("jax0.99.0-fma-eager", True)
    assert collection.add(new.copy(), recording) == ("jax0.99.0-fma-eager", False)
    with pytest.raises(
        build.theorem.TheoremBrokenError,
        match=r"jax0\.99\.0-fma-eager is not strictly increasing at draw 1234;",
    ):
        build.write(collection, path, lambda _line: None)
    assert path.read_bytes() == b"as it was"


def test_one_arithmetic_loads_in_a_fifth_of_a_second(table):
    """Processor time, best of five fresh tables: what else the machine does must not decide."""
    times = []
    for _ in range(5):
        start = time.process_time()
        DrawTable.load().values(table.canonical)
        times.append(time.process_time() - start)
    assert min(times) <= 0.2


def test_the_file_is_small():
    assert DEFAULT_PATH.stat().st_size <= 12_000_000


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(DrawTableError, match="the draw table is missing; reinstall posvec or run `make vectors`"):
        DrawTable.load(tmp_path / "none.h5")


def test_a_file_that_is_no_hdf5_is_refused(tmp_path):
    path = tmp_path / "text.h5"
    path.write_text("not HDF5")
    with pytest.raises(DrawTableError, match="the draw table cannot be read") as caught:
        DrawTable.load(path)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("alter", "problem"),
    [
        (lambda f: f.attrs.__setitem__("format", "golden"), "is an HDF5 file of another kind"),
        (lambda f: f.attrs.__setitem__("format_version", 99), "has format version 99"),
        (lambda f: f.attrs.__setitem__("slack_ulp", 400), "does not match its SHA-256"),
        (lambda f: f["correctly_rounded"].attrs.__setitem__("sha256", "0"), "does not match its SHA-256"),
    ],
)
def test_an_altered_header_is_refused_when_opened(tmp_path, alter, problem):
    path = tmp_path / "altered.h5"
    shutil.copy(DEFAULT_PATH, path)
    with h5py.File(path, "r+") as file:
        alter(file)
    with pytest.raises(DrawTableError, match=problem):
        DrawTable.load(path)


def test_an_altered_array_is_refused_when_loaded_and_no_other(tmp_path):
    path = tmp_path / "altered.h5"
    shutil.copy(DEFAULT_PATH, path)
    with h5py.File(path, "r+") as file:
        file[draw_file.CORRECTLY_ROUNDED][12345] += 1
    table = DrawTable.load(path)
    table.values_at(table.canonical, np.array([12345]))
    with pytest.raises(DrawTableError, match="is damaged: correctly_rounded"):
        table.correctly_rounded()


def test_a_flipped_byte_on_disk_is_found(tmp_path):
    """Wherever in the stored data one bit flips, loading everything raises and returns nothing wrong."""
    content = bytearray(DEFAULT_PATH.read_bytes())
    path = tmp_path / "flipped.h5"
    for place in (len(content) // 3, len(content) // 2, len(content) - 200_000):
        flipped = content.copy()
        flipped[place] ^= 0x10
        path.write_bytes(flipped)
        with pytest.raises(DrawTableError):
            _load_everything(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "short.h5"
    path.write_bytes(DEFAULT_PATH.read_bytes()[:-1000])
    with pytest.raises(DrawTableError):
        _load_everything(path)


def _load_everything(path):
    table = DrawTable.load(path)
    for arithmetic in table.arithmetics:
        table.values(arithmetic.id)
    table.correctly_rounded()
    table.span()
