"""Buckets, against exact arithmetic and against float32 code."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from tests.generator.references.conftest import golden, refusals

NAME = "t5_relative_position_bucket"


@cache
def exact_bucket(relative: int, bidirectional: int, num_buckets: int, max_distance: int) -> int:
    """The definition, with powers of fractions instead of logarithms."""
    first = 0
    if bidirectional:
        num_buckets //= 2
        first = num_buckets if relative > 0 else 0
    elif relative > 0:
        return 0
    distance, exact = abs(relative), num_buckets // 2
    if distance < exact:
        return first + distance
    # exact + k while (distance / exact) ** (num_buckets - exact) >= (max_distance / exact) ** k
    power, bucket = Fraction(distance, exact) ** (num_buckets - exact), exact
    while bucket < num_buckets - 1 and Fraction(max_distance, exact) ** (bucket + 1 - exact) <= power:
        bucket += 1
    return first + bucket


def test_buckets_are_the_exact_floors():
    for case, expected in golden(NAME):
        setting = [case.args[key] for key in ("bidirectional", "num_buckets", "max_distance")]
        exact = [exact_bucket(int(relative), *setting) for relative in case.args["relative_position"].flat]
        assert expected.values.reshape(-1).tolist() == exact


def test_buckets_of_the_papers_setting_change_where_the_logarithm_is_an_integer():
    assert [exact_bucket(-distance, 1, 32, 128) for distance in (15, 16, 31, 32, 63, 64)] == [9, 10, 11, 12, 13, 14]


def by_numpy(relative_position, bidirectional, num_buckets, max_distance):
    first = 0
    distance = np.maximum(-relative_position, 0)
    if bidirectional:
        num_buckets //= 2
        first = (relative_position > 0) * np.int32(num_buckets)
        distance = np.abs(relative_position)
    exact = num_buckets // 2
    scale = np.float32((num_buckets - exact) / math.log(max_distance / exact))
    with np.errstate(divide="ignore", invalid="ignore"):
        far = exact + np.nan_to_num(np.log(distance.astype(np.float32) / np.float32(exact)) * scale).astype(np.int32)
    return first + np.where(distance < exact, distance, np.minimum(far, num_buckets - 1)).astype(np.int32)


def by_torch(relative_position, bidirectional, num_buckets, max_distance):
    torch = pytest.importorskip("torch")
    relative = torch.from_numpy(relative_position).long()
    buckets = torch.zeros_like(relative)
    if bidirectional:
        num_buckets = num_buckets // 2
        buckets += (relative > 0).long() * num_buckets
        distance = relative.abs()
    else:
        distance = (-relative).clamp(min=0)
    exact = num_buckets // 2
    far = torch.log(distance.float() / exact) / math.log(max_distance / exact) * (num_buckets - exact)
    far = (exact + far.clamp(min=0).long()).clamp(max=num_buckets - 1)
    return (buckets + torch.where(distance < exact, distance, far)).int().numpy()


@pytest.mark.parametrize("function", [by_numpy, by_torch])
def test_float32_code_of_other_libraries_conforms(function):
    assert [case.axes for case in refusals(NAME, function)] == []
