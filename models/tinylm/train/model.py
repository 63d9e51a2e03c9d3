# SPDX-License-Identifier: Apache-2.0
"""The model in JAX: decoder only, RMSNorm before each block, rotary positions, SwiGLU, tied embedding."""
import jax
import jax.numpy as jnp
import numpy as np

SIZES = {
    "target": dict(dim=128, layers=5, heads=4, hidden=352, context=256),
    "drafter": dict(dim=96, layers=3, heads=3, hidden=256, context=256),
    "small": dict(dim=32, layers=2, heads=2, hidden=64, context=64),
}
EPSILON = 1e-5
ROPE_BASE = 10000.0


def init(size, vocab, seed):
    rng = np.random.default_rng(seed)
    d, h = size["dim"], size["hidden"]

    def mat(rows, cols, scale=1.0):
        return (rng.standard_normal((rows, cols)) * scale / np.sqrt(rows)).astype(np.float32)

    params = {"embed": (rng.standard_normal((vocab, d)) * 0.05).astype(np.float32), "norm": np.ones(d, np.float32)}
    for i in range(size["layers"]):
        params[f"layers.{i}.attention_norm"] = np.ones(d, np.float32)
        params[f"layers.{i}.qkv"] = mat(d, 3 * d)
        params[f"layers.{i}.out"] = mat(d, d, 0.5)
        params[f"layers.{i}.mlp_norm"] = np.ones(d, np.float32)
        params[f"layers.{i}.gate_up"] = mat(d, 2 * h)
        params[f"layers.{i}.down"] = mat(h, d, 0.5)
    return params


def rms(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + EPSILON) * gain


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def hidden(params, size, ids, segment):
    """ids, segment [B, T] -> normed last hidden state [B, T, d]. Tokens see earlier ones of their own segment."""
    batch, length = ids.shape
    heads, width = size["heads"], size["dim"] // size["heads"]
    angle = np.arange(length)[:, None] * ROPE_BASE ** (-np.arange(width // 2) / (width // 2))
    cos, sin = jnp.asarray(np.cos(angle), jnp.float32), jnp.asarray(np.sin(angle), jnp.float32)
    see = jnp.tril(jnp.ones((length, length), bool))[None] & (segment[:, :, None] == segment[:, None, :])
    see = jnp.repeat(see, heads, axis=0)
    x = params["embed"][ids] * np.float32(np.sqrt(size["dim"]))
    for i in range(size["layers"]):
        p = {k: params[f"layers.{i}.{k}"] for k in ("attention_norm", "qkv", "out", "mlp_norm", "gate_up", "down")}
        qkv = (rms(x, p["attention_norm"]) @ p["qkv"]).reshape(batch, length, 3, heads, width).transpose(2, 0, 3, 1, 4)
        q, k, v = (t.reshape(batch * heads, length, width) for t in qkv)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        score = jax.lax.dot_general(q, k, (((2,), (2,)), ((0,), (0,)))) * np.float32(1.0 / np.sqrt(width))
        score = jnp.where(see, score, -1e30)
        power = jnp.exp(score - jax.lax.stop_gradient(jnp.max(score, axis=-1, keepdims=True)))
        mixed = jax.lax.dot_general(power, v, (((2,), (1,)), ((0,), (0,)))) / jnp.sum(power, axis=-1, keepdims=True)
        mixed = mixed.reshape(batch, heads, length, width).transpose(0, 2, 1, 3).reshape(batch, length, -1)
        x = x + mixed @ p["out"]
        gate, up = jnp.split(rms(x, p["mlp_norm"]) @ p["gate_up"], 2, axis=-1)
        x = x + (jax.nn.silu(gate) * up) @ p["down"]
    return rms(x, params["norm"])


def logits(params, size, ids, segment):
    return hidden(params, size, ids, segment) @ params["embed"].T
