"""Arrays of Torch and JAX are taken as they are; other Pythons run the same child."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess

import pytest

from posvec.schemas.case import Case
from posvec.verifier.running.runner import RunOptions, Session
from posvec.verifier.running.target import parse_target

from .conftest import cases


def evaluator(path, prelude):
    """Open a session on a target that returns what an expression gives; one process for all of them."""
    path.write_text(f"{prelude}\ndef fn(expression): return eval(expression)", encoding="utf-8")
    return Session(parse_target(str(path)), "fn", RunOptions(timeout=60, start_timeout=120))


def ask(session, expression):
    [answer] = session.run([Case(id="c", args={"expression": expression})])
    return answer


@pytest.fixture(scope="module")
def torch_session(tmp_path_factory):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("Torch is not installed")
    with evaluator(tmp_path_factory.mktemp("torch") / "answer.py", "import torch") as session:
        yield session


@pytest.fixture(scope="module")
def jax_session(tmp_path_factory):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    prelude = """
import os
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
def later():
    def fail(x): raise ValueError("inside the computation")
    out = jax.ShapeDtypeStruct((3,), np.float32)
    return jax.jit(lambda x: jax.pure_callback(fail, out, x))(jnp.zeros(3))
"""
    with evaluator(tmp_path_factory.mktemp("jax") / "answer.py", prelude) as session:
        yield session


@pytest.mark.parametrize(
    ("expression", "name", "dtype", "shape", "order", "data"),
    [
        ("torch.ones(2)", "torch.Tensor", "<f4", (2,), "C", "0000803f" * 2),
        ("torch.ones(2, requires_grad=True)", "torch.Tensor", "<f4", (2,), "C", "0000803f" * 2),
        ("torch.nn.Parameter(torch.ones(1))", "torch.nn.parameter.Parameter", "<f4", (1,), "C", "0000803f"),
        ("torch.ones(2, dtype=torch.bfloat16)", "torch.Tensor", "bfloat16", (2,), "C", "803f" * 2),
        ("torch.ones((), dtype=torch.bfloat16)", "torch.Tensor", "bfloat16", (), "C", "803f"),
        ("torch.ones(2, dtype=torch.float16)", "torch.Tensor", "<f2", (2,), "C", "003c" * 2),
        ("torch.ones(1, dtype=torch.float64)", "torch.Tensor", "<f8", (1,), "C", "000000000000f03f"),
        ("torch.arange(4, dtype=torch.uint8).view(2, 2).T", "torch.Tensor", "|u1", (2, 2), "F", "00020103"),
        ("torch.arange(4, dtype=torch.uint8)[::2]", "torch.Tensor", "|u1", (2,), "strided", "0002"),
        ("torch.zeros(0)", "torch.Tensor", "<f4", (0,), "C", ""),
        ("torch.ones(1, dtype=torch.complex64).conj()", "torch.Tensor", "<c8", (1,), "C", "0000803f00000080"),
        ("torch.ones(2).to(torch.float8_e5m2)", "torch.Tensor", "float8_e5m2", (2,), "C", "3c3c"),
        ("torch.ones(1).expand(2**30)", "torch.Tensor", "<f4", (2**30,), "strided", None),
    ],
)
def test_torch_tensors(torch_session, expression, name, dtype, shape, order, data):
    answer = ask(torch_session, expression)
    assert answer.kind == "array", answer
    assert (answer.type_name, answer.dtype, answer.shape, answer.memory_order) == (name, dtype, shape, order)
    assert answer.data == (None if data is None else bytes.fromhex(data))


@pytest.mark.parametrize(
    ("expression", "kind", "words"),
    [
        ("torch.ones(2).to_sparse()", "other", "sparse"),
        ("torch.ones(2, device='meta')", "raised", "meta"),
        ("[torch.ones(1)] * 2", "other", "list of 2 torch.Tensor"),
    ],
)
def test_torch_tensors_without_data(torch_session, expression, kind, words):
    answer = ask(torch_session, expression)
    assert (answer.kind, answer.data) == (kind, None)
    assert words in answer.detail


def test_a_torch_target_names_torch(torch_session):
    ask(torch_session, "torch.ones(1)")
    assert str(torch_session.environment["torch"])[0].isdigit()


@pytest.mark.parametrize(
    ("expression", "dtype", "shape", "data"),
    [
        ("jnp.ones(2)", "<f4", (2,), "0000803f" * 2),
        ("jnp.ones(2, jnp.bfloat16)", "bfloat16", (2,), "803f" * 2),
        ("jnp.ones((2, 1), jnp.float16)", "<f2", (2, 1), "003c" * 2),
        ("jnp.float32(1)", "<f4", (), "0000803f"),
        ("jnp.arange(2)", "<i4", (2,), "0000000001000000"),
        ("jnp.zeros((0, 4))", "<f4", (0, 4), ""),
    ],
)
def test_jax_arrays(jax_session, expression, dtype, shape, data):
    answer = ask(jax_session, expression)
    assert (answer.kind, answer.type_name, answer.dtype, answer.shape) == ("array", "jax.Array", dtype, shape)
    assert answer.data == bytes.fromhex(data)


def test_a_jax_error_under_asynchronous_dispatch_is_raised(jax_session):
    answer = ask(jax_session, "later()")
    assert answer.kind == "raised"
    assert "inside the computation" in answer.detail


@pytest.mark.parametrize("expression", ["jax.random.key(0)", "jax.jit", "jax.ShapeDtypeStruct((2,), jnp.float32)"])
def test_what_is_no_jax_array(jax_session, expression):
    assert ask(jax_session, expression).kind == "other"


def test_a_jax_target_tells_its_settings(jax_session):
    ask(jax_session, "jnp.ones(1)")
    found = jax_session.environment
    assert str(found["jax"])[0].isdigit()
    assert str(found["jaxlib"])[0].isdigit()
    assert (found["jax_enable_x64"], found["jax_backend"]) == (False, "cpu")
    assert found["jax_default_prng_impl"] == "threefry2x32"
    assert type(found["jax_threefry_partitionable"]) is bool


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
def test_other_pythons_run_the_child(write, version):
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"Python {version} is not here")
    path = write("""
        import sys
        def fn(seed, T, d_model):
            if T == 1: raise ValueError("one")
            if T == 2: sys.exit()
            return [0.5] * T
    """)
    with Session(parse_target(str(path)), "fn", RunOptions(python=python)) as session:
        got = list(session.run(cases(4)))
        assert [a.kind for a in got] == ["other", "raised", "raised", "other"]
        assert got[1].detail.endswith("ValueError: one\n")
        assert got[3].detail == "list of 3 float"
        assert str(session.environment["python"]).startswith(version)
        assert session.behaviour(cases(4)).incomplete == ""
