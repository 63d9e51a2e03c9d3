#!/usr/bin/env python3
"""step.py LIBRARY: draws tokens from tensors of torch by libstep.so (step.cu says how it is built).

Engines take `Sampler` alone: it allocates once, and its call may stand inside of torch.cuda.graph. Run as a program it
checks itself. Exit code 77: there is no torch here, or none that sees a GPU."""
import ctypes
import sys


class Tensors(ctypes.Structure):
    NAMES = ("logits", "memory", "keys", "positions", "rounds", "tokens")
    _fields_ = [(name, ctypes.c_void_p) for name in NAMES]


def dl_tensor(capsule):
    """The DLTensor at the beginning of what a capsule of DLPack holds."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer_of(capsule, b"dltensor")


class Sampler:
    """Tokens for up to `rows` rows of V logits on one device."""

    def __init__(self, torch, library, rows, vocab_size, key):
        self.torch = torch
        self.library = ctypes.CDLL(library)
        self.library.step_bytes.restype = ctypes.c_size_t
        self.library.step_draw.argtypes = [ctypes.POINTER(Tensors), ctypes.c_double, ctypes.c_void_p]
        size = self.library.step_bytes(rows, vocab_size)
        self.memory = torch.empty(size, dtype=torch.uint8, device="cuda")
        self.keys = torch.tensor([key] * rows, dtype=torch.int32, device="cuda")
        self.tokens = torch.empty((rows, 5), dtype=torch.int32, device="cuda")

    def draw(self, logits, positions, rounds, temperature):
        """Enqueues on torch's stream of now. Returns statuses (0: ok) and tokens, which stay on the device."""
        rows = logits.shape[0]
        given = (logits, self.memory, self.keys[:rows], positions, rounds, self.tokens[:rows])
        # -1: on this very stream, so that nobody has to wait. The capsules live until the call is back.
        capsules = [tensor.detach().__dlpack__(stream=-1) for tensor in given]
        tensors = Tensors(*(dl_tensor(capsule) for capsule in capsules))
        stream = self.torch.cuda.current_stream().cuda_stream
        error = self.library.step_draw(ctypes.byref(tensors), temperature, stream)
        if error:
            raise ValueError(f"specverify: error {error}, see docs/errors.md")
        return self.tokens[:rows, 0], self.tokens[:rows, 2]


def main():
    try:
        import torch
    except ImportError:
        print("torch is not here")
        return 77
    if not torch.cuda.is_available():
        print("this torch sees no GPU")
        return 77
    rows, vocab_size = 64, 128256
    sampler = Sampler(torch, sys.argv[1], rows, vocab_size, (1, 2))
    places = torch.arange(rows, dtype=torch.int32, device="cuda")
    rounds = torch.zeros(rows, dtype=torch.int32, device="cuda")
    for scalar in (torch.float32, torch.float16, torch.bfloat16):
        logits = (3 * torch.randn(rows, vocab_size, device="cuda")).to(scalar)
        status, greedy = sampler.draw(logits, places, rounds, 0.0)
        chosen = logits.gather(1, greedy.long()[:, None])[:, 0]
        assert not status.any() and torch.equal(chosen, logits.max(-1).values)
        drawn = sampler.draw(logits, places, rounds, 0.8)[1].clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            sampler.draw(logits, places, rounds, 0.8)
        graph.replay()
        assert torch.equal(drawn, sampler.tokens[:, 2])
        places += 1
        graph.replay()
        assert not torch.equal(drawn, sampler.tokens[:, 2])
    print("draws of float32, float16 and bfloat16 tensors: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
