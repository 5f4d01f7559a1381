"""Code of other projects, each behind the signature of a suite.

Modules are built from a configuration and get the weights of a case; nothing is downloaded. Each function here imports
its project and returns a function of the suite's arguments.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

Function = Callable[..., Any]


@contextmanager
def importing() -> Iterator[None]:
    """Let other projects warn of each other while they load, and keep them offline and out of the home folder."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("KERAS_BACKEND", "jax")
    os.environ.setdefault("KERAS_HOME", tempfile.gettempdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _tensors(function: Function) -> Function:
    """Return the function with arrays made PyTorch tensors and the tensor that it returns an array."""
    import torch

    def wrapped(**args: Any) -> np.ndarray:
        given = {name: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for name, v in args.items()}
        with torch.no_grad():
            result: np.ndarray = function(**given).contiguous().numpy()
        return result

    return wrapped


def _torch_embedding(weight: Any) -> Any:
    from torch.nn import Embedding

    return Embedding.from_pretrained(weight)


def torch_add() -> Function:
    import torch

    return _tensors(lambda x, table: x + _torch_embedding(table)(torch.arange(x.shape[1])))


def torch_tokens() -> Function:
    import torch

    def embed(tok_weight, pos_weight, token_ids):
        return _torch_embedding(tok_weight)(token_ids) + _torch_embedding(pos_weight)(torch.arange(token_ids.shape[1]))

    return _tensors(embed)


def torch_decode() -> Function:
    import torch

    return _tensors(lambda table, offset, T: _torch_embedding(table)(torch.arange(offset, offset + T)))


def torch_slice() -> Function:
    return _tensors(lambda table, offset, T: table[offset : offset + T])


def jax_dynamic_slice() -> Function:
    import jax

    def decode(table, offset, T):
        return np.asarray(jax.lax.dynamic_slice_in_dim(jax.numpy.asarray(table), offset, T))

    return decode


def jax_take(mode: str) -> Function:
    import jax.numpy as jnp

    def decode(table, offset, T):
        return np.asarray(jnp.take(jnp.asarray(table), offset + jnp.arange(T), axis=0, mode=mode))

    return decode


def hf_bert(normalised: bool) -> Function:
    import torch
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertEmbeddings

    def embed(word_embeddings, position_embeddings, token_type_embeddings, input_ids, token_type_ids):
        sizes = {
            "vocab_size": len(word_embeddings),
            "hidden_size": word_embeddings.shape[1],
            "max_position_embeddings": len(position_embeddings),
            "type_vocab_size": len(token_type_embeddings),
        }
        module = BertEmbeddings(BertConfig(**sizes, num_attention_heads=1)).eval()
        module.word_embeddings.weight.copy_(word_embeddings)
        module.position_embeddings.weight.copy_(position_embeddings)
        module.token_type_embeddings.weight.copy_(token_type_embeddings)
        if not normalised:
            module.LayerNorm = torch.nn.Identity()
        return module(input_ids, token_type_ids)

    return _tensors(embed)


def hf_gpt2() -> Function:
    import torch
    from transformers import GPT2Config, GPT2Model

    def embed(tok_weight, pos_weight, token_ids):
        sizes = {"vocab_size": len(tok_weight), "n_embd": tok_weight.shape[1], "n_positions": len(pos_weight)}
        ends = {"bos_token_id": 0, "eos_token_id": 0}
        model = GPT2Model(GPT2Config(**sizes, **ends, n_layer=0, n_head=1, use_cache=False)).eval()
        model.wte.weight.copy_(tok_weight)
        model.wpe.weight.copy_(pos_weight)
        model.ln_f = torch.nn.Identity()
        return model(token_ids).last_hidden_state

    return _tensors(embed)


def hf_opt() -> Function:
    import torch
    from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding

    def decode(table, offset, T):
        module = OPTLearnedPositionalEmbedding(len(table) - 2, table.shape[1])
        module.weight.copy_(table)
        return module(torch.ones(1, offset + T, dtype=torch.long), past_key_values_length=offset)[0]

    return _tensors(decode)


def hf_vit() -> Function:
    import torch
    from transformers import ViTConfig
    from transformers.models.vit.modeling_vit import ViTEmbeddings

    class Given(torch.nn.Module):
        """Returns the patches of the case, whatever the pixels."""

        def __init__(self, patches):
            super().__init__()
            self.patches = patches
            self.num_patches = patches.shape[1]

        def forward(self, _):
            return self.patches

    def embed(patches, cls, pos):
        B, N, D = patches.shape
        module = ViTEmbeddings(ViTConfig(hidden_size=D, image_size=(1, N), patch_size=1)).eval()
        module.patch_embeddings = Given(patches)
        module.cls_token.copy_(cls[None, None])
        module.position_embeddings.copy_(pos[None])
        return module(torch.zeros(B, 3, 1, N))

    return _tensors(embed)


def _hf_rotary(modeling: Any, rotary: str, config: Any) -> Function:
    @cache
    def module(base: float, D: int) -> Any:
        sizes = {"hidden_size": D, "num_attention_heads": 1, "max_position_embeddings": 2**17}
        parameters = {"rope_type": "default", "rope_theta": base}
        return getattr(modeling, rotary)(config(**sizes, rope_parameters=parameters))

    def rotation(x, positions, base):
        cosine, sine = module(base, x.shape[3])(x, positions)
        return modeling.apply_rotary_pos_emb(x, x, cosine, sine, unsqueeze_dim=2)[0]

    return _tensors(rotation)


def hf_llama() -> Function:
    from transformers import LlamaConfig
    from transformers.models.llama import modeling_llama

    return _hf_rotary(modeling_llama, "LlamaRotaryEmbedding", LlamaConfig)


def hf_cohere() -> Function:
    from transformers import CohereConfig
    from transformers.models.cohere import modeling_cohere

    return _hf_rotary(modeling_cohere, "CohereRotaryEmbedding", CohereConfig)


def hf_marian() -> Function:
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    return _tensors(lambda T, d_model, base: MarianSinusoidalPositionalEmbedding(T, d_model).create_weight())


def hf_m2m100() -> Function:
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding as Embedding

    return _tensors(lambda T, d_model, base: Embedding.get_embedding(T, d_model))


def hf_t5() -> Function:
    from transformers.models.t5.modeling_t5 import T5Attention

    return _tensors(
        lambda relative_position, bidirectional, num_buckets, max_distance: T5Attention._relative_position_bucket(
            relative_position, bool(bidirectional), num_buckets, max_distance
        ).int()
    )


def hf_bloom() -> Function:
    import torch
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    def bias(n_heads, T):
        return build_alibi_tensor(torch.ones(1, T), n_heads, torch.float32).expand(n_heads, T, T)

    return _tensors(bias)


def x_rotary() -> Function:
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    def rotation(x, positions, base):
        angles, _ = RotaryEmbedding(x.shape[3], base=base)(positions)
        return apply_rotary_pos_emb(x.transpose(1, 2), angles).transpose(1, 2)

    return _tensors(rotation)


def x_alibi() -> Function:
    from x_transformers.x_transformers import AlibiPositionalBias

    return _tensors(lambda n_heads, T: AlibiPositionalBias(n_heads)(T, T))


def x_buckets() -> Function:
    from x_transformers.x_transformers import RelativePositionBias

    return _tensors(
        lambda relative_position, bidirectional, num_buckets, max_distance: (
            RelativePositionBias._relative_position_bucket(
                relative_position, not bidirectional, num_buckets, max_distance
            ).int()
        )
    )


def x_sinusoidal() -> Function:
    import torch
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    def encoding(T, d_model, base):
        module = ScaledSinusoidalEmbedding(d_model, theta=base)
        module.scale.fill_(1)
        return module(torch.zeros(1, T, d_model))

    return _tensors(encoding)


def x_absolute() -> Function:
    from x_transformers.x_transformers import AbsolutePositionalEmbedding

    def add(x, table):
        module = AbsolutePositionalEmbedding(table.shape[1], len(table))
        module.emb.weight.copy_(table)
        return x + module(x)

    return _tensors(add)


def lucidrains_rotary() -> Function:
    import torch
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    def rotation(x, positions, base):
        module = RotaryEmbedding(x.shape[3], theta=base, cache_if_possible=False)
        sequences = [
            apply_rotary_emb(module(p.float())[:, None], one[None], seq_dim=-3)
            for p, one in zip(positions, x, strict=True)
        ]
        return torch.cat(sequences) if sequences else x

    return _tensors(rotation)


def positional_encodings() -> Function:
    import torch
    from positional_encodings.torch_encodings import PositionalEncoding1D

    return _tensors(lambda T, d_model, base: PositionalEncoding1D(d_model)(torch.zeros(1, T, d_model))[0])


def keras_sinusoidal() -> Function:
    import keras_hub

    def encoding(T, d_model, base):
        layer = keras_hub.layers.SinePositionEncoding(max_wavelength=base)
        return np.asarray(layer(np.zeros((1, T, d_model), np.float32)))[0]

    return encoding


def keras_rotary() -> Function:
    import keras_hub

    return lambda x, positions, base: np.asarray(
        keras_hub.layers.RotaryEmbedding(max_wavelength=base)(x, positions=positions)
    )


def keras_tokens() -> Function:
    import keras_hub

    def embed(tok_weight, pos_weight, token_ids):
        layer = keras_hub.layers.TokenAndPositionEmbedding(len(tok_weight), len(pos_weight), tok_weight.shape[1])
        layer.build(token_ids.shape)
        layer.set_weights([tok_weight, pos_weight])
        return np.asarray(layer(token_ids))

    return embed


def keras_decode() -> Function:
    import keras_hub

    def decode(table, offset, T):
        layer = keras_hub.layers.PositionEmbedding(len(table))
        layer.build((1, T, table.shape[1]))
        layer.set_weights([table])
        return np.asarray(layer(np.zeros((1, T, table.shape[1]), np.float32), start_index=offset))[0]

    return decode


def keras_alibi() -> Function:
    import keras_hub

    def bias(n_heads, T):
        return np.asarray(keras_hub.layers.AlibiBias()(np.zeros((1, n_heads, T, T), np.float32)))[0]

    return bias


def flax_nnx_tokens() -> Function:
    import jax.numpy as jnp
    from flax import nnx

    def rows(weight, ids):
        given = nnx.Embed(*weight.shape, embedding_init=lambda *_: jnp.asarray(weight), rngs=nnx.Rngs(0))
        return given(ids)

    def embed(tok_weight, pos_weight, token_ids):
        return np.asarray(rows(tok_weight, token_ids) + rows(pos_weight, np.arange(token_ids.shape[1])))

    return embed
