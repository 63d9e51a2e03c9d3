#!/usr/bin/env python3
"""Prints tests/noise/engines.txt: noise and tokens as the samplers of vLLM and SGLang compute them.

usage: TRITON_INTERPRET=1 tests/noise/make_vectors.py VLLM.whl SGLANG.whl TRITON.whl > tests/noise/engines.txt

The numbers come from the engines' own files, which this script takes out of the wheels and runs on a CPU, under
Triton's interpreter. It needs the packages torch, numpy, and triton in the version of the wheel."""
import ast
import hashlib
import importlib.util
import os
import pathlib
import sys
import tempfile
import types
import zipfile

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # SGLang's function is compiled by a decorator; the interpreter is not
import torch
import triton
import triton.language as tl

VLLM, HASH, SAMPLER = ("vllm/v1/worker/gpu/sample/gumbel.py", "sglang/kernels/ops/sampling/murmur_hash.py",
                       "sglang/srt/layers/sampler.py")
SEEDS = (0, 1, 0x0123456789ABCDEF, -2)
POSITIONS = (0, 6, 4096, 2**31 + 5)
IDS = (0, 1, 2, 3, 1023, 49151, 1048575)
ROWS, VOCABULARY = 40, 1500


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_vllm(folder):
    utilities = types.ModuleType("vllm.triton_utils")  # the file imports nothing else of its package
    utilities.tl, utilities.triton = tl, triton
    sys.modules["vllm"], sys.modules["vllm.triton_utils"] = types.ModuleType("vllm"), utilities
    return load("vllm_gumbel", folder / VLLM)


def load_sglang(folder):
    """Returns the two functions that draw a seeded token, which call the kernel of the file HASH."""
    hashing = load("sglang_murmur_hash", folder / HASH)
    tensors = torch.library.Library("sgl_kernel", "DEF")  # for tensors on a CPU the engine asks for a compiled copy
    tensors.define("murmur_hash32_cpu(Tensor seed, Tensor positions, Tensor columns) -> Tensor")

    def hashed(seed, positions, columns):
        rows, width = seed.shape[0], columns.shape[0]
        made = torch.empty((rows, width), dtype=torch.uint32)
        hashing.murmur_hash32_kernel[(rows, triton.cdiv(width, 1024))](seed, positions, columns, made, rows, width,
                                                                       BLOCK_SIZE=1024)
        return made

    tensors.impl("murmur_hash32_cpu", hashed, "CPU")
    sys.modules["sgl_kernel"] = types.ModuleType("sgl_kernel")
    space = {"torch": torch, "murmur_hash32": hashing.murmur_hash32, "is_npu": lambda: False, "tensors": tensors}
    exec("from typing import Optional", space)
    wanted = {"multinomial_with_seed", "sampling_from_probs_torch"}
    tree = ast.parse((folder / SAMPLER).read_text())
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
    exec(compile(tree, SAMPLER, "exec"), space)
    return space


def noise_kernel(gumbel):
    uniform32, uniform64, argmax = gumbel.murmur3_uniform32, gumbel.murmur3_uniform64, gumbel.gumbel_noised_argmax

    @triton.jit
    def one_id(seed_at, position_at, id_at, u_at, noise_at, WIDE: tl.constexpr):
        lane = tl.arange(0, 2)
        seed, position, key = tl.load(seed_at), tl.load(position_at), tl.load(id_at) + lane
        u = uniform64(seed, position, key) if WIDE else uniform32(seed, position, key)
        zero = lane.to(tl.float32) * 0
        value, _ = argmax(zero, key, lane == 0, seed, position, tl.sum(zero) + 1.0, IS_DRAFTING=False, USE_FP64=WIDE)
        tl.store(u_at + lane, u, mask=lane == 0)
        tl.store(noise_at, value)

    one_id.fn.__globals__.update(uniform32=uniform32, uniform64=uniform64, argmax=argmax)
    return one_id


def logits(row):
    """The same in tests/unit/core/noise_test.cpp; multiples of 1/512, at most 8."""
    ids = torch.arange(VOCABULARY, dtype=torch.int64)
    return ((((ids * 2654435761 + row * 40503) & 0xFFFFFFFF) >> 16 & 4095).to(torch.float32) / 512).reshape(1, -1)


def places():
    return [(seed, position, token) for seed in SEEDS for position in POSITIONS for token in IDS]


def draws():
    for row in range(ROWS):
        yield row, SEEDS[row % 4] + row // 4, 10 + 7 * row, (1.0, 0.5, 0.7)[row % 3]


def vllm_lines(gumbel):
    one_id = noise_kernel(gumbel)
    for wide, kind, number in ((False, "vllm_fp32", torch.float32), (True, "vllm_fp64", torch.float64)):
        for seed, position, token in places():
            u, noise = torch.zeros(2, dtype=number), torch.zeros(1, dtype=number)
            one_id[(1,)](*(torch.tensor([value], dtype=torch.int64) for value in (seed, position, token)), u, noise,
                         WIDE=wide)
            yield f"noise {kind} {seed} {position} {token} {u[0].item().hex()} {noise[0].item().hex()}"
        for row, seed, position, temperature in draws():
            values, first = logits(row), torch.zeros(1, dtype=torch.int64)
            degrees = torch.tensor([temperature], dtype=torch.float32)
            gumbel.apply_temperature(values, first, degrees)
            token = gumbel.gumbel_sample(values, first, degrees, torch.tensor([seed]), torch.tensor([position]),
                                         apply_temperature=False, is_drafting=False, use_fp64=wide).item()
            yield f"token {kind} {seed} {position} {row} {temperature} {token}"


def sglang_lines(engine):
    def drawn(seed, position, call):
        return call(torch.tensor([seed], dtype=torch.int64), torch.tensor([position], dtype=torch.int64))

    seen = []
    argmax, logarithm = torch.argmax, torch.Tensor.log_
    torch.argmax = lambda x, **options: (seen.append(x.clone()), argmax(x, **options))[1]
    torch.Tensor.log_ = lambda x: (seen.append(x.clone()), logarithm(x))[1]
    width = max(token for token in IDS) + 1
    for seed in SEEDS:
        for position in POSITIONS:
            seen.clear()
            drawn(seed, position, lambda s, p: engine["multinomial_with_seed"](torch.zeros((1, width)), s, p))
            u, noise = seen[0], seen[-1]  # the first logarithm is that of u, and the last value is the noise
            for token in IDS:
                yield (f"noise sglang {seed} {position} {token} {u[0, token].item().hex()} "
                       f"{noise[0, token].item().hex()}")
    torch.argmax, torch.Tensor.log_ = argmax, logarithm
    for row, seed, position, temperature in draws():
        probabilities = torch.softmax(logits(row).div_(torch.tensor([[temperature]])), dim=-1)
        token = drawn(seed, position,
                      lambda s, p: engine["sampling_from_probs_torch"](probabilities, sampling_seed=s, positions=p))
        yield f"token sglang {seed} {position} {row} {temperature} {token.item()}"


def main(wheels):
    print("# Made once by tests/noise/make_vectors.py from the engines' own files; CI only reads it.")
    for wheel in wheels:
        print(f"# {pathlib.Path(wheel).name} sha256 {hashlib.sha256(pathlib.Path(wheel).read_bytes()).hexdigest()}")
    print(f"# run under Triton {triton.__version__} (TRITON_INTERPRET=1), torch {torch.__version__}, on a CPU")
    print("# noise KIND SEED POSITION ID U NOISE     U: the engine's uniform number; NOISE = -ln of its time")
    print("# token KIND SEED POSITION ROW TEMPERATURE ID     POSITION: of the last input token")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        zipfile.ZipFile(wheels[0]).extract(VLLM, folder)
        for file in (HASH, SAMPLER):
            zipfile.ZipFile(wheels[1]).extract(file, folder)
        for lines in (vllm_lines(load_vllm(folder)), sglang_lines(load_sglang(folder))):
            for line in lines:
                print(line)


if __name__ == "__main__":
    if len(sys.argv) != 4 or os.environ.get("TRITON_INTERPRET") != "1" or triton.__version__ not in sys.argv[3]:
        sys.exit(__doc__)
    main(sys.argv[1:])
