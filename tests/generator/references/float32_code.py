"""Ordinary float32 code for sinusoidal encodings and rotations: the forms and libraries that people use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

F = np.float32
Frequencies = Callable[[float, int], np.ndarray]


def _numpy_forms() -> Iterator[tuple[str, Frequencies]]:
    yield "power", lambda base, d: F(1) / np.power(F(base), np.arange(0, d, 2, dtype=F) / F(d))
    yield "negative power", lambda base, d: np.power(F(base), -np.arange(0, d, 2, dtype=F) / F(d))
    yield "exp", lambda base, d: np.exp(np.arange(0, d, 2, dtype=F) * F(-math.log(base) / d))
    yield "exp of float32 log", lambda base, d: np.exp(-np.log(F(base)) * (np.arange(0, d, 2, dtype=F) / F(d)))
    yield "float64 power", lambda base, d: (1 / base ** (np.arange(0, d, 2) / d)).astype(F)


def _jax_forms() -> Iterator[tuple[str, Callable[[float, int], jax.Array]]]:
    yield "power", lambda base, d: 1 / (base ** (jnp.arange(0, d, 2, dtype=jnp.float32) / d))
    yield "exp of float32 log", lambda base, d: jnp.exp(-jnp.log(jnp.float32(base)) * jnp.arange(0, d, 2) / d)


def _torch_forms(torch: Any) -> Iterator[tuple[str, Callable[[float, int], Any]]]:
    yield "power", lambda base, d: 1 / (base ** (torch.arange(0, d, 2, dtype=torch.float32) / d))
    yield "exp", lambda base, d: torch.exp(torch.arange(0, d, 2) * (-math.log(base) / d))


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def sinusoidal_encodings() -> dict[str, Callable[[int, int, float], np.ndarray]]:
    """Interleaved encodings: of each library and form, and the paper's own quotient."""

    def by_numpy(frequencies: Frequencies):
        def encoding(T, d_model, base):
            angles = np.arange(T, dtype=F)[:, None] * frequencies(base, d_model)
            result = np.empty((T, d_model), F)
            result[:, 0::2] = np.sin(angles)
            result[:, 1::2] = np.cos(angles)[:, : d_model // 2]
            return result

        return encoding

    def paper(T, d_model, base):
        i = np.arange(d_model) // 2
        angles = np.arange(T, dtype=F)[:, None] / np.power(F(base), F(2) * i.astype(F) / F(d_model))
        return np.where(np.arange(d_model) % 2 == 0, np.sin(angles), np.cos(angles))

    def shifted_cosine(T, d_model, base):
        """Every column a sine, that of a cosine a quarter turn ahead."""
        i = np.arange(d_model) // 2
        angles = np.arange(T, dtype=F)[:, None] * np.exp(2 * i.astype(F) * F(-math.log(base) / d_model))
        return np.sin(angles + (np.arange(d_model) % 2).astype(F) * F(math.pi / 2))

    def by_jax(frequencies):
        def encoding(T, d_model, base):
            angles = jnp.arange(T, dtype=jnp.float32)[:, None] * frequencies(base, d_model)
            pairs = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)
            return pairs.reshape(T, d_model + d_model % 2)[:, :d_model]

        return jax.jit(encoding, static_argnums=(0, 1, 2))

    def by_torch(torch, frequencies):
        def encoding(T, d_model, base):
            angles = torch.arange(T).unsqueeze(1) * frequencies(base, d_model)
            result = torch.zeros(T, d_model)
            result[:, 0::2] = torch.sin(angles)
            result[:, 1::2] = torch.cos(angles)[:, : d_model // 2]
            return result.numpy()

        return encoding

    codes = {f"NumPy, {name}": by_numpy(form) for name, form in _numpy_forms()}
    codes |= {"NumPy, the paper's quotient": paper, "NumPy, a shifted cosine": shifted_cosine}
    codes |= {f"compiled JAX, {name}": by_jax(form) for name, form in _jax_forms()}
    if torch := _torch():
        codes |= {f"PyTorch, {name}": by_torch(torch, form) for name, form in _torch_forms(torch)}
    return codes


def rotations(half: bool) -> dict[str, Callable[[np.ndarray, np.ndarray, float], np.ndarray]]:
    """Rotations in one of the two layouts: of each library and form, by sums of products and by complex numbers."""

    def by_numpy(frequencies: Frequencies):
        def rotation(x, positions, base):
            D = x.shape[-1]
            angles = positions[:, :, None, None].astype(F) * frequencies(base, D)
            first, second = (x[..., : D // 2], x[..., D // 2 :]) if half else (x[..., 0::2], x[..., 1::2])
            pair = (
                first * np.cos(angles) - second * np.sin(angles),
                second * np.cos(angles) + first * np.sin(angles),
            )
            return np.concatenate(pair, axis=-1) if half else np.stack(pair, axis=-1).reshape(x.shape)

        return rotation

    def complex_numbers(x, positions, base):
        D = x.shape[-1]
        angles = positions[:, :, None, None].astype(F) * (F(1) / np.power(F(base), np.arange(0, D, 2, dtype=F) / F(D)))
        turn = np.cos(angles) + 1j * np.sin(angles)
        if half:
            turned = (x[..., : D // 2] + 1j * x[..., D // 2 :]) * turn
            return np.concatenate([turned.real, turned.imag], axis=-1)
        return (np.ascontiguousarray(x).view(np.complex64) * turn).view(F)

    def by_jax(frequencies):
        def of_base(base):
            @jax.jit
            def rotation(x, positions):
                D = x.shape[-1]
                angles = positions[:, :, None, None] * frequencies(base, D)
                sine, cosine = jnp.sin(angles), jnp.cos(angles)
                first, second = (x[..., : D // 2], x[..., D // 2 :]) if half else (x[..., 0::2], x[..., 1::2])
                pair = (first * cosine - second * sine, second * cosine + first * sine)
                return jnp.concatenate(pair, axis=-1) if half else jnp.stack(pair, axis=-1).reshape(x.shape)

            return rotation

        compiled = {base: of_base(base) for base in (100.0, 10000.0, 500000.0)}
        return lambda x, positions, base: compiled[base](x, positions)

    def by_torch(torch, frequencies):
        def rotation(x, positions, base):
            D = x.shape[-1]
            x, positions = torch.from_numpy(x), torch.from_numpy(positions)
            angles = positions[:, :, None, None].float() * frequencies(base, D)
            first, second = x.chunk(2, dim=-1) if half else (x[..., 0::2], x[..., 1::2])
            pair = (first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin())
            return (torch.cat(pair, dim=-1) if half else torch.stack(pair, dim=-1).flatten(-2)).numpy()

        return rotation

    codes = {f"NumPy, {name}": by_numpy(form) for name, form in _numpy_forms()}
    codes["NumPy, complex numbers"] = complex_numbers
    codes |= {f"compiled JAX, {name}": by_jax(form) for name, form in _jax_forms()}
    if torch := _torch():
        codes |= {f"PyTorch, {name}": by_torch(torch, form) for name, form in _torch_forms(torch)}
    return codes
