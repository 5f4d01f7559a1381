"""Environments are found or named as missing; each setting is one clean process."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from posvec.generator import environments, matrix
from posvec.generator.environments import ENVIRONMENTS, STAMP, EnvironmentMissingError, build, find_python, interpreter
from posvec.generator.matrix import Results, Setting, settings

PINS = replace(ENVIRONMENTS[0], first_python=sys.version_info.minor, last_python=sys.version_info.minor)


def test_a_fitting_python_is_found():
    assert environments._minor(find_python(PINS)) == sys.version_info.minor


def test_a_python_that_is_nowhere_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environments, "_candidates", lambda _: [Path(sys.executable), Path("/nowhere/python3.99")])
    with pytest.raises(EnvironmentMissingError, match=r"JAX 0\.4\.38: needs a Python 3\.99 to 3\.99 .*; install one"):
        find_python(replace(PINS, first_python=99, last_python=99))


def test_an_environment_that_is_there_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    python = interpreter(tmp_path / "jax-0.4.38")
    python.parent.mkdir(parents=True)
    python.touch()
    wanted = "\n".join((*PINS.requirements, str(tmp_path)))
    (tmp_path / "jax-0.4.38" / STAMP).write_text(wanted)
    monkeypatch.delattr(environments, "_run")
    assert build(PINS, folder=tmp_path, root=tmp_path) == python


def test_a_failed_install_is_one_sentence():
    with pytest.raises(EnvironmentMissingError, match=r"^JAX 0\.4\.38: .* failed: .*; .*\.$"):
        environments._run(PINS, [sys.executable, "-c", "raise SystemExit('no such wheel')"], "look there")


def test_nothing_of_the_caller_s_environment_steers_a_setting(monkeypatch: pytest.MonkeyPatch):
    for name in ("JAX_ENABLE_X64", "XLA_FLAGS", "FLAX_PROFILE", "PYTHONPATH"):
        monkeypatch.setenv(name, "1")
    setting = Setting(pins=PINS, python=Path("python"), isa="AVX2", stream="original")
    steering = {
        name: value for name, value in setting.environ().items() if name.startswith(("JAX", "XLA", "FLAX", "PYTHON"))
    }
    assert steering == {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}


def test_an_instruction_set_that_the_cpu_lacks_is_kept_and_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(matrix, "cpu_instruction_set", lambda: "AVX2")
    results = Results()
    todo = settings({PINS: Path("python")}, ["original"], results=results)
    assert [setting.isa for setting in todo] == ["unset", "AVX2", "SSE4_2"]
    assert results.problems == ["This CPU (AVX2) lacks AVX512; what is recorded of it is kept."]
