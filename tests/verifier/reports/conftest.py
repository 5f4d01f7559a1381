"""Reports of real runs: wrong and right targets, verified once for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

from posvec.vectors.files import DEFAULT_SUITE, locate
from posvec.verifier.match import Match
from posvec.verifier.plan import Request
from posvec.verifier.running.options import RunOptions
from posvec.verifier.running.runner import Session
from posvec.verifier.running.target import parse_target
from posvec.verifier.sources import find_vectors
from posvec.verifier.verify import verify

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SELECTED = "*/seed=42/d_model=16/T=[13][26]"  # T = 12, 16 and 32
TARGETS = f"""
import sys
sys.path.insert(0, {str(EXAMPLES)!r})
import numpy as np
from numpy_port import learned_pos_embed_forward as right


def transposed(seed, T, d_model):
    return right(seed, T, d_model).reshape(T, d_model).T.ravel()


def shifted(seed, T, d_model):
    return np.roll(right(seed, 32, d_model).reshape(32, d_model), -1, axis=0)[:T].ravel()


def two_dimensional(seed, T, d_model):
    return right(seed, T, d_model).reshape(T, d_model)


def not_finite(seed, T, d_model):
    values = right(seed, T, d_model)
    values[:1] = np.nan
    values[1:3] = np.inf
    return values


def rounded(seed, T, d_model):
    return np.nextafter(right(seed, T, d_model), np.float32(1))


def raising(seed, T, d_model):
    raise ValueError("<script>alert(1)</script> </style> [x](javascript:alert(1)) \\u202e\\u2028\\x1b \\ud800 ]]>")
"""


class _Silent:
    def begin(self, total):
        pass

    def advance(self, seconds, remaining):
        pass

    def end(self):
        pass


@pytest.fixture(scope="session")
def report_of(tmp_path_factory):
    """Return a function that verifies one of TARGETS and returns its report; each is run once."""
    path = tmp_path_factory.mktemp("targets") / "targets.py"
    path.write_text(TARGETS)
    done = {}

    def run(name, match="equivalent"):
        key = (name, match)
        if key not in done:
            target = parse_target(f"{path}:{name}")
            found = find_vectors(
                path=locate(None, None, suite=None), stream=None, fresh=None, fresh_seed=None, golden=False
            )
            options = RunOptions(python=None, timeout=10.0, start_timeout=60.0, jobs=1, memory=None)
            request = Request(
                target=target,
                match=Match.parse(match),
                vectors=found.vectors,
                vectors_facts=found.facts,
                golden=found.golden,
                select=SELECTED,
                tables=True,
            )
            done[key] = verify(request, Session(target, DEFAULT_SUITE.function, options, watch=()), _Silent())
        return done[key]

    return run
