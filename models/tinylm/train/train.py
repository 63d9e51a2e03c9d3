# SPDX-License-Identifier: Apache-2.0
"""Trains one model of the pair. Everything that decides the result is an argument: sizes, seed, token counts."""
import argparse
import json
import os
import time

import jax
import jax.numpy as jnp
import numpy as np

import export
from model import SIZES, hidden, init, logits
from prepare import ROW


def orthogonal(g):
    """Five Newton-Schulz steps towards the orthogonal factor of g (the Muon update)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = g.shape[0] > g.shape[1]
    x = g.T if tall else g
    x = x / (jnp.linalg.norm(x) + 1e-7)
    for _ in range(5):
        y = x @ x.T
        x = a * x + (b * y + c * y @ y) @ x
    return (x.T if tall else x) * np.sqrt(max(1.0, g.shape[1] / g.shape[0]))


def is_matrix(name):
    return name.rsplit(".", 1)[-1] in ("qkv", "out", "gate_up", "down")


def blocks(name, g):
    """qkv and gate_up are several matrices side by side; each is made orthogonal on its own."""
    parts = {"qkv": 3, "gate_up": 2}.get(name.rsplit(".", 1)[-1], 1)
    return jnp.concatenate([orthogonal(x) for x in jnp.split(g, parts, axis=1)], axis=1)


def batches(folder, rows, prose_share, seed, start, length):
    """Step -> ids, weights, segments. Problem rows in order, prose rows shuffled anew each epoch."""
    data = np.load(os.path.join(folder, "problems.npz"))
    p_ids, p_weight, p_segment = data["ids"], data["weight"], data["segment"]
    prose = np.load(os.path.join(folder, "prose.npy"))
    prose_rows = round(rows * prose_share)
    problem_rows = rows - prose_rows

    def prose_row(k):
        epoch, i = divmod(k, len(prose))
        return order(epoch)[i]

    cache = {}

    def order(epoch):
        if epoch not in cache:
            cache.clear()
            cache[epoch] = prose[np.random.default_rng((seed, epoch)).permutation(len(prose))]
        return cache[epoch]

    step = start
    while True:
        take = np.arange(step * problem_rows, (step + 1) * problem_rows) % len(p_ids)
        more = np.array([prose_row(step * prose_rows + j) for j in range(prose_rows)], np.uint16).reshape(-1, ROW)
        ids = np.concatenate([p_ids[take], more]).astype(np.int32)[:, :length]
        weight = np.concatenate([p_weight[take], np.full(more.shape, 100, np.uint8)]).astype(np.float32)[:, :length] / 100
        segment = np.concatenate([p_segment[take], np.zeros(more.shape, np.uint8)]).astype(np.int32)[:, :length]
        yield ids, weight, segment
        step += 1


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--size", choices=sorted(SIZES), required=True)
    a.add_argument("--folder", required=True, help="prepared rows and checkpoints")
    a.add_argument("--out", required=True, help="safetensors file to write")
    a.add_argument("--tokens", type=int, required=True, help="tokens in all, padding included")
    a.add_argument("--rows", type=int, default=16)
    a.add_argument("--prose-share", type=float, default=0.3)
    a.add_argument("--seed", type=int, default=7)
    a.add_argument("--decay-share", type=float, default=0.4, help="last part of the run, learning rate falls to 0")
    a.add_argument("--matrix-rate", type=float, default=0.02)
    a.add_argument("--adam-rate", type=float, default=0.003)
    a.add_argument("--teacher", help="size:file, learn from this model's law as well")
    a.add_argument("--teacher-share", type=float, default=0.7)
    a.add_argument("--vocab", type=int, default=4096)
    a.add_argument("--init", help="safetensors file to begin with instead of random weights")
    a.add_argument("--skip-steps", type=int, default=0, help="steps of data that an earlier stage has used")
    a.add_argument("--resume", help="checkpoint to go on from")
    a.add_argument("--save-minutes", type=float, default=4.0)
    a.add_argument("--log", help="file for the loss values, JSON")
    args = a.parse_args()

    size = SIZES[args.size]
    length = min(ROW, size["context"])
    steps = args.tokens // (args.rows * length)
    decay = int(steps * args.decay_share)
    params = {k: jnp.asarray(v) for k, v in init(size, args.vocab, args.seed).items()}
    first = {k: jnp.zeros_like(v) for k, v in params.items()}
    second = {k: jnp.zeros_like(v) for k, v in params.items() if not is_matrix(k)}
    if args.init:
        params = {k: jnp.asarray(v) for k, v in export.load(args.init).items()}
    start = 0
    if args.resume:
        with np.load(args.resume) as z:
            start = int(z["step"])
            params = {k: jnp.asarray(z["p:" + k]) for k in params}
            first = {k: jnp.asarray(z["m:" + k]) for k in first}
            second = {k: jnp.asarray(z["v:" + k]) for k in second}
    teacher = None
    if args.teacher:
        name, path = args.teacher.split(":", 1)
        teacher = ({k: jnp.asarray(v) for k, v in export.load(path).items()}, SIZES[name])

    def loss_of(p, ids, weight, segment):
        inside = (segment[:, 1:] == segment[:, :-1]).astype(jnp.float32) * weight[:, 1:]
        total = jnp.sum(inside)
        state = hidden(p, size, ids[:, :-1], segment[:, :-1]).reshape(-1, size["dim"])
        z = state @ p["embed"].T
        log_z = jax.nn.logsumexp(z, axis=-1)
        right = jnp.sum(state * p["embed"][ids[:, 1:].reshape(-1)], axis=-1)
        inside = inside.reshape(-1)
        plain = jnp.sum((log_z - right) * inside) / total
        if teacher is None:
            return plain, plain
        taught = jax.lax.stop_gradient(logits(teacher[0], teacher[1], ids[:, :-1], segment[:, :-1])).reshape(z.shape)
        cross = log_z - jnp.sum(jax.nn.softmax(taught, axis=-1) * z, axis=-1)
        return args.teacher_share * jnp.sum(cross * inside) / total + (1 - args.teacher_share) * plain, plain

    @jax.jit
    def update(p, m, v, step, ids, weight, segment):
        (_, plain), g = jax.value_and_grad(loss_of, has_aux=True)(p, ids, weight, segment)
        rate = jnp.minimum(1.0, (step + 1) / 60.0) * jnp.clip((steps - step) / max(1, decay), 0.0, 1.0)
        new_p, new_m, new_v = {}, {}, {}
        for k in p:
            if is_matrix(k):
                new_m[k] = 0.95 * m[k] + g[k]
                new_p[k] = p[k] * (1 - 0.05 * args.matrix_rate * rate) - args.matrix_rate * rate * blocks(k, g[k] + 0.95 * new_m[k])
            else:
                new_m[k] = 0.9 * m[k] + 0.1 * g[k]
                new_v[k] = 0.98 * v[k] + 0.02 * g[k] * g[k]
                t = step + 1.0
                new_p[k] = p[k] - args.adam_rate * rate * (new_m[k] / (1 - 0.9 ** t)) / (
                    jnp.sqrt(new_v[k] / (1 - 0.98 ** t)) + 1e-9)
        return new_p, new_m, new_v, plain

    os.makedirs(args.folder, exist_ok=True)
    checkpoint = os.path.join(args.folder, args.size + ".checkpoint.npz")
    source = batches(args.folder, args.rows, args.prose_share, args.seed, start + args.skip_steps, length)
    began = saved = time.time()
    recent, history = [], []
    for step in range(start, steps):
        ids, weight, segment = next(source)
        params, first, second, plain = update(params, first, second, np.float32(step), ids, weight, segment)
        recent.append(plain)
        history.append(plain)
        if (step + 1) % 50 == 0:
            done = (step + 1 - start) * args.rows * length
            print("step %d of %d  tokens %d  loss %.4f  %.0f tokens/s" % (
                step + 1, steps, (step + 1) * args.rows * length, float(np.mean([float(x) for x in recent])),
                done / (time.time() - began)), flush=True)
            recent = []
            if time.time() - saved > 60 * args.save_minutes or step + 1 == int(steps * (1 - args.decay_share)) // 50 * 50:
                saved = time.time()
                np.savez(checkpoint + ".new.npz", step=step + 1, **{"p:" + k: v for k, v in params.items()},
                         **{"m:" + k: v for k, v in first.items()}, **{"v:" + k: v for k, v in second.items()})
                os.replace(checkpoint + ".new.npz", checkpoint)
                export.save(checkpoint.replace(".checkpoint.npz", ".provisional.safetensors"), params, size, args, step + 1)
    export.save(args.out, params, size, args, steps)
    if args.log:
        with open(args.log, "w") as f:
            json.dump([float(x) for x in history], f)


if __name__ == "__main__":
    main()
