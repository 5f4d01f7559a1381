"""The implementations of ``posvec selftest``: what each is, and what the verifier must say of it.

They lie in ``zoo/``, which is no package: each is a target that is run by its path, in a process of its own, and
imports nothing of posvec.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from posvec.schemas.report import VerdictCode

ZOO = Path(__file__).parent / "zoo"

FEW = "*/seed=[124]*/d_model=3/T=[24]"
"""Cases of one width: libraries that compile for each new shape would take most of the time for others."""
TWO_WIDTHS = "*/seed=[124]*/d_model=[34]/T=2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """One implementation and what must be said of it.

    Attributes:
        file: Its file in the zoo, without ``.py``.
        name: The function.
        verdict: The verdict's code.
        mistakes: The ids that are named together; of several explanations, one tuple each; none where nothing is named.
        needs: The libraries that it imports, beside NumPy.
        options: Further options of ``posvec verify``.

    """

    file: str
    name: str
    verdict: VerdictCode
    mistakes: tuple[tuple[str, ...], ...] = ()
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ("--quick",)

    @property
    def target(self) -> str:
        """The target, as ``posvec verify`` takes it."""
        return f"{ZOO / self.file}.py:{self.name}"

    @property
    def label(self) -> str:
        """What it is called in tables."""
        return f"{self.file}:{self.name}"


def _wrong(file: str, *needs: str, options: tuple[str, ...] = ("--quick",), **named: str) -> list[Specimen]:
    """Return wrong implementations of one file: by function the ids of the mistakes, ``+`` between them."""
    return [
        Specimen(
            file=file,
            name=name,
            verdict="not-conforming",
            mistakes=(tuple(ids.split("+")),) if ids else (),
            needs=needs,
            options=options,
        )
        for name, ids in named.items()
    ]


def _right(file: str, *needs: str, verdict: VerdictCode, options: tuple[str, ...], names: str) -> list[Specimen]:
    return [Specimen(file=file, name=name, verdict=verdict, needs=needs, options=options) for name in names.split()]


_LOOSE = ("--quick", "--match", "equivalent")

SPECIMENS: tuple[Specimen, ...] = (
    *_right(
        "numpy_right",
        verdict="equivalent",
        options=_LOOSE,
        names="port rows_needed_only gathered one_hot",
    ),
    # Right draws in a rounding of its own are not exact, and nothing is to be blamed for it.
    *_right("numpy_right", verdict="rounding", options=("--quick",), names="port"),
    *_right("torch_port", "torch", verdict="equivalent", options=_LOOSE, names="port"),
    *_right("torch_port", "torch", verdict="rounding", options=("--quick",), names="port"),
    *_right(
        "flax_right",
        "jax",
        "flax",
        verdict="exact",
        options=("--select", FEW),
        names="setup_style typed_key gathered one_hot dynamic_slice embed_module rows_needed_only jitted",
    ),
    *_wrong(
        "numpy_rows",
        options=_LOOSE,
        counts_from_one="rows-from-one",
        from_one_to_the_end="rows-from-one",
        offset_for_padding="rows-from-two",
        last_rows="last-rows",
        minus_T="last-rows",
        one_less="one-row-less",
        one_more="one-row-more",
        all_rows="all-rows",
        padded="padded-with-zeros",
        index_for_slice="row-for-slice",
        batch_for_sequence="first-row-repeated",
        backwards="reversed-rows",
        rotated="rotated-rows",
        fortran_order="feature-major",
        features_first="feature-major+not-flattened",
        reshaped="reshape-for-transpose",
        table_transposed="transposed-table",
        swapped="arguments-swapped",
    ),
    *_wrong(
        "numpy_numbers",
        options=_LOOSE,
        unfolded="unfolded-key",
        unfolded_two_dimensions="unfolded-key+not-flattened",
        keras_key="keras-seed",
        both_words="long-seed",
        second_parameter="nth-parameter",
        unsigned="seed-narrowed",
        next_seed="seed-plus-one",
        fixed_seed="seed-ignored",
        cached_by_length="cached",
        cached_by_width="cached",
        numpy_seed="numpy-legacy",
        default_rng="numpy-default-rng+float64",
        ten_times="stddev",
        unscaled="not-scaled",
        variance="variance-for-stddev",
        scaled_by_width="scaled-by-width",
        uniform="uniform",
        all_32_bits="finer-uniform",
        half_precision="rounded-to-float16",
        printed_short="too-few-digits",
        input_added="input-added",
        zeros="zeros",
        sinusoidal="sinusoidal",
        own_generator="",
        wrong_for_one_length="",
        not_a_number="",
    ),
    *_wrong(
        "numpy_layouts",
        options=_LOOSE,
        two_dimensional="not-flattened",
        batched="not-flattened",
        squeezed="not-flattened",
        double="float64",
        half="rounded-to-float16",
        big_endian="big-endian",
        a_list="list",
        a_tuple="tuple",
        mean="scalar",
        global_generator="not-repeatable",
        wide_table_cut="depends-on-calls",
    ),
    *_wrong("numpy_layouts", options=(*_LOOSE, "--strict"), one_buffer="shared-buffer"),
    *_wrong(
        "torch_port",
        "torch",
        randn="torch-generator",
        embedding="torch-generator+not-scaled",
        half_precision="rounded-to-bfloat16",
    ),
    *_wrong(
        "flax_wrong",
        "jax",
        "flax",
        options=("--select", FEW),
        second_parameter="nth-parameter",
        nested="nested-module",
        nested_named="nested-module",
        nested_deeper="nested-module",
        under_remat="remat-module",
        under_nn_jit="nn-jit",
        split_before_init="init-with-split-key",
        separator="rng-separator",
        before_jax_05="other-stream",
        default_stddev="stddev-default",
        truncated="truncated-normal",
        uniform="uniform",
        ones="ones",
        brain_parameter="bfloat16-parameter",
        brain_result="bfloat16-parameter",
        half_parameter="float16-parameter",
        brain_cast="rounded-to-bfloat16",
        transposed_table="transposed-table",
    ),
    *_wrong(
        "flax_wrong",
        "jax",
        "flax",
        options=("--select", TWO_WIDTHS),  # these depend on the width
        embed_default="embed-default",
        xavier_normal="xavier-normal",
        xavier_uniform="xavier-uniform",
        scaled="nested-module+scaled-by-width",
    ),
    *_wrong(
        "flax_wrong",
        "jax",
        "flax",
        options=("--select", FEW, "--stream", "original"),
        short_table_before_jax_05="only-T-rows",
        split_before_jax_05="init-with-split-key",
        default_stddev="other-stream+stddev-default",
    ),
    *_wrong(
        "jax_wrong",
        "jax",
        options=("--select", FEW),
        unfolded="unfolded-key",
        equinox_style="unfolded-key+not-scaled",
        split_first="split-key-first",
        split_second="split-key-second",
        box_muller="box-muller",
        double="x64",
        other_prng="",
    ),
    *_wrong("jax_wrong", "jax", options=("--select", "*/d_model=3/T=[1-5]"), stale_global="cached"),
    *_wrong(
        "nnx_wrong",
        "jax",
        "flax",
        options=("--select", FEW),
        module="split-key-first",
        bridged="nnx-bridge",
    ),
    *_wrong("nnx_wrong", "jax", "flax", options=("--select", TWO_WIDTHS), embed="split-key-first+embed-default"),
)
