from __future__ import annotations

from dataclasses import replace

import pytest

from posvec.schemas.axes import Axis
from posvec.schemas.build import Build
from posvec.vectors.assemble import Recorded, write_golden
from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.vectors.golden import Golden
from posvec.vectors.suites import LEARNED_POS_EMBED

CANONICAL = Build(
    jax="0.10.2",
    jaxlib="0.10.2",
    flax="0.12.8",
    mode="eager",
    platform="linux",
    machine="x86_64",
    backend="cpu",
    isa="AVX2",
    cpu_isa="AVX512",
)
OTHER = replace(CANONICAL, jax="0.7.2", jaxlib="0.7.2")


@pytest.fixture(scope="session")
def draw_table():
    return DrawTable.load()


@pytest.fixture
def make_golden(tmp_path, draw_table):
    """Write a small golden file of arithmetics from the draw table, as builds would return them."""

    def make(name="learned_pos_embed.h5", *, builds=(), existing=None, stream="partitionable", **axes):
        axes = {"seed": "0..2,-1", "T": "0..32", "d_model": "1,3,4", **axes}
        seeds = Axis.parse(axes["seed"], name="seed", minimum=-(2**63), maximum=2**63 - 1)

        def reader(arithmetic, shift):
            def read(d_model, start, stop):
                draws = table_draws(seeds.slice(start, stop), d_model, stream=stream)
                values = draw_table.values_at(arithmetic, draws)
                if shift:
                    values.reshape(-1).view("<i4")[0] += shift
                return values

            return read

        path = tmp_path / name
        write_golden(
            path,
            suite=LEARNED_POS_EMBED,
            stream=stream,
            axes={p.name: p.parse(axes[p.name], option=p.name) for p in LEARNED_POS_EMBED.parameters},
            recordings=[
                Recorded(build=build, read=reader(arithmetic, shift))
                for build, arithmetic, shift in ((*b, 0) if len(b) == 2 else b for b in builds)
            ],
            existing=existing,
            table=draw_table,
            command="posvec generate",
        )
        return Golden.open(path)

    return make
