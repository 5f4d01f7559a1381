"""What would make silently different vectors is refused, in one sentence that says how to mend it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from posvec.generator.environment import cpu_instruction_set, describe, parse_xla_flags
from posvec.schemas.errors import EnvironmentRefused

from .conftest import environ, generate

GUARDS = [
    ({"JAX_ENABLE_X64": "1"}, "unset JAX_ENABLE_X64"),
    ({"JAX_DEFAULT_PRNG_IMPL": "rbg"}, "unset JAX_DEFAULT_PRNG_IMPL"),
    ({"JAX_RANDOM_SEED_OFFSET": "7"}, "unset JAX_RANDOM_SEED_OFFSET"),
    ({"JAX_DISABLE_JIT": "1"}, "unset JAX_DISABLE_JIT"),
    ({"EAGER_CONSTANT_FOLDING": "1"}, "unset EAGER_CONSTANT_FOLDING"),
    ({"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}, "unset JAX_DISABLE_MOST_OPTIMIZATIONS"),
    ({"JAX_OPTIMIZATION_LEVEL": "O1"}, "unset JAX_OPTIMIZATION_LEVEL"),
    ({"FLAX_FIX_RNG_SEPARATOR": "1"}, "unset FLAX_FIX_RNG_SEPARATOR"),
    ({"JAX_THREEFRY_PARTITIONABLE": "0"}, "unset it, or ask for --stream original"),
    ({"XLA_FLAGS": "--xla_cpu_max_isa=AVX3"}, "use one of SSE4_2, AVX, AVX2, AVX512"),
    ({"JAX_PLATFORMS": "nosuch"}, "set JAX_PLATFORMS=cpu"),
    ({"JAX_ENABLE_X64": "maybe"}, "mend the variable"),
]


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=environ(**variables), capture_output=True, text=True, check=False
    )


def prepared(code: str = "", **variables: str) -> str:
    """Return what ``prepare`` raised, or an empty text."""
    body = (
        "from posvec.generator.environment import prepare\n"
        "from posvec.schemas.errors import EnvironmentRefused\n"
        f"{code}\n"
        "try:\n    prepare(stream='partitionable')\nexcept EnvironmentRefused as error:\n    print(error, end='')"
    )
    done = python(body, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("variables", "remedy"), GUARDS, ids=lambda value: str(value)[:60])
def test_a_variable_that_changes_vectors_is_refused(variables: dict[str, str], remedy: str):
    refusal = prepared(**variables)
    assert remedy in refusal
    assert "\n" not in refusal


def test_a_setting_made_in_code_is_refused_with_the_code_that_mends_it():
    refusal = prepared("import jax; jax.config.update('jax_enable_x64', True)")
    assert "jax.config.update('jax_enable_x64', False)" in refusal


@pytest.mark.parametrize("package", ["jax", "flax"])
def test_a_missing_package_is_named_with_what_installs_it(package: str):
    assert "pip install 'posvec[jax]'" in prepared(f"import sys; sys.modules['{package}'] = None")


def test_an_unset_variable_lets_either_stream_be_asked_for():
    code = (
        "from posvec.generator.environment import prepare; prepare(stream='original')\n"
        "import jax; print(jax.config.jax_threefry_partitionable)"
    )
    assert python(code).stdout == "False\n"
    assert python(code, JAX_THREEFRY_PARTITIONABLE="off").stdout == "False\n"


def test_the_command_ends_with_3_and_one_line(tmp_path):
    done = generate("-o", str(tmp_path), variables={"JAX_ENABLE_X64": "1"})
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (3, "", 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "isa", "others"),
    [
        ("", "native", []),
        ("--xla_cpu_max_isa=avx2", "AVX2", []),
        ("--xla_cpu_max_isa=AVX --xla_cpu_max_isa=SSE4_2", "SSE4_2", []),
        ("--xla_b=2 --xla_a --xla_dump_to=/home/me", "native", ["--xla_a", "--xla_b=2"]),
    ],
)
def test_xla_flags_are_read_as_xla_reads_them(flags: str, isa: str, others: list[str]):
    assert parse_xla_flags(flags) == (isa, others)


def test_xla_flags_may_be_a_file(tmp_path):
    file = tmp_path / "flags"
    file.write_text("--xla_cpu_max_isa=SSE4_2\n")
    assert parse_xla_flags(str(file)) == ("SSE4_2", [])
    with pytest.raises(EnvironmentRefused, match="no such file"):
        parse_xla_flags(str(tmp_path / "missing"))


def test_a_limit_above_what_the_cpu_has_is_no_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("posvec.generator.environment.cpu_instruction_set", lambda: "AVX2")
    isas = [describe(environ={"XLA_FLAGS": f"--xla_cpu_max_isa={isa}"}).isa for isa in ("AVX512", "AVX2", "AVX")]
    assert isas == ["native", "AVX2", "AVX"]


def test_the_cpu_has_a_known_instruction_set():
    assert cpu_instruction_set() in ("AVX512", "AVX2", "AVX", "SSE4_2", "generic")
