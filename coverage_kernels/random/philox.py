"""Triton's random numbers, against Philox 4x32-10 written out here in Python integers.

Written for the harness. The generator is counter-based: a number depends on the seed and its offset
alone, so every case has one right answer, whatever the grid. Salmon et al., "Parallel random numbers:
as easy as 1, 2, 3" (SC11) gives the constants.
"""

import math

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, KernelCase, Tolerance, case, empty

MASK = 0xFFFFFFFF


def philox(seed, offset, rounds=10):
    """Four 32-bit numbers for one counter; seed and offset are 64-bit, low half first."""
    counter = [offset & MASK, offset >> 32 & MASK, 0, 0]
    key = [seed & MASK, seed >> 32 & MASK]
    for _ in range(rounds):
        high_a, low_a = divmod(0xD2511F53 * counter[0], 1 << 32)
        high_b, low_b = divmod(0xCD9E8D57 * counter[2], 1 << 32)
        counter = [high_b ^ counter[1] ^ key[0], low_b, high_a ^ counter[3] ^ key[1], low_a]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return counter


def uniform(bits):
    """As Triton maps 32 bits to [0, 1): fold the sign, then scale by a number just under 2**-31."""
    signed = bits - (1 << 32) if bits >> 31 else bits
    folded = -signed - 1 if signed < 0 else signed
    return float(torch.tensor(folded).float() * torch.tensor(4.6566127342e-10))


def normal(first, second):
    """Box-Muller on two uniforms, in float64; zero is kept out of the logarithm."""
    return math.sqrt(-2.0 * math.log(max(1.0e-7, first))) * math.cos(6.283185307179586 * second)


@triton.jit
def randint_kernel(out, n, seed, offset, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randint(seed, offset + at, ROUNDS), mask=at < n)


@case(seed=[0, 2**31 - 1, 2**40 + 17], rounds=[10, 7])
def randint(seed, rounds):
    """Seeds of one word and of two; the upper word is the second half of the key."""
    return KernelCase(
        randint_kernel,
        grid=(3,),
        args=dict(out=empty(300, "uint32"), n=300, seed=seed, offset=1000, ROUNDS=rounds, BLOCK=128),
        reference=lambda out: torch.tensor([philox(seed, 1000 + i, rounds)[0] for i in range(300)]),
    )


@case(offset=[0, 2**32 - 3, 2**40])
def randint_at_wide_offsets(offset):
    """64-bit offsets fill two words of the counter, with a carry between them inside the block."""
    return KernelCase(
        randint_wide_kernel,
        grid=(1,),
        args=dict(out=empty(64, "uint32"), seed=42, start=Buffer(1, "int64", fill=Constant(offset)), BLOCK=64),
        reference=lambda out: torch.tensor([philox(42, offset + i)[0] for i in range(64)]),
    )


@triton.jit
def randint_wide_kernel(out, seed, start, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.randint(seed, tl.load(start) + at))


@triton.jit
def randint4x_kernel(out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(out + at, a, mask=at < n)
    tl.store(out + n + at, b, mask=at < n)
    tl.store(out + 2 * n + at, c, mask=at < n)
    tl.store(out + 3 * n + at, d, mask=at < n)


@case(n=[1, 100])
def randint4x(n):
    return KernelCase(
        randint4x_kernel,
        grid=(2,),
        args=dict(out=empty((4, n), "uint32"), n=n, seed=7, BLOCK=64),
        reference=lambda out: torch.tensor([philox(7, i) for i in range(n)]).T,
    )


@triton.jit
def rand_kernel(out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(seed, at), mask=at < n)


@case(n=[5, 500], seed=[0, 123456789])
def rand(n, seed):
    return KernelCase(
        rand_kernel,
        grid=(triton.cdiv(n, 128),),
        args=dict(out=empty(n), n=n, seed=seed, BLOCK=128),
        reference=lambda out: torch.tensor([uniform(philox(seed, i)[0]) for i in range(n)]),
    )


@triton.jit
def randn_kernel(out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randn(seed, at), mask=at < n)


@case(n=[500])
def randn(n):
    return KernelCase(
        randn_kernel,
        grid=(triton.cdiv(n, 128),),
        args=dict(out=empty(n), n=n, seed=99, BLOCK=128),
        reference=lambda out: torch.tensor([normal(*map(uniform, philox(99, i)[:2])) for i in range(n)]),
        tolerance=Tolerance("log and cos are approximate on hardware; cos has zeros", ulp=16, absolute=4e-6),
    )


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, tl.where(keep, value / (1 - p), 0.0), mask=at < n)


@case(p=[0.0, 0.9], dtype=["fp32", "fp16"])
def dropout(p, dtype):
    """Triton's tutorial 04: the mask is never stored, the seed remakes it."""
    n = 400
    rounded = float(torch.tensor(p, dtype=torch.float32))  # a float argument arrives as fp32

    def reference(x):
        keep = torch.tensor([uniform(philox(5, i)[0]) > rounded for i in range(n)])
        return torch.where(keep, x / (1 - rounded), 0.0)

    return KernelCase(
        dropout_kernel,
        grid=(4,),
        args=dict(x=Buffer(n, dtype), out=empty(n, dtype), n=n, p=p, seed=5, BLOCK=128),
        reference=reference,
    )


@triton.jit
def randint64_kernel(out, seed, low, high, n, BLOCK: tl.constexpr):
    """Inductor's `randint64`: two words make 64 bits, their remainder the range."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r0, r1, _, _ = tl.randint4x(seed, at)
    wide = r0.to(tl.uint64) | (r1.to(tl.uint64) << 32)
    size = (high - low).to(tl.uint64)
    tl.store(out + at, (wide % size).to(tl.int64) + low, mask=at < n)


@case(bounds=[(0, 10), (-(2**40), 2**41)])
def randint64(bounds):
    low, high = bounds

    def reference(out):
        words = [philox(3, i) for i in range(200)]
        return torch.tensor([(w[0] | w[1] << 32) % (high - low) + low for w in words])

    return KernelCase(
        randint64_kernel,
        grid=(2,),
        args=dict(out=empty(200, "int64"), seed=3, low=low, high=high, n=200, BLOCK=128),
        reference=reference,
    )


@triton.jit
def shuffle_kernel(x, out, seed, N: tl.constexpr):
    """A permutation drawn by sorting random keys that carry their index."""
    at = tl.arange(0, N)
    key = (tl.randint(seed, at).to(tl.int64) & 0xFFFFFFFF) << 16 | at.to(tl.int64)
    order = tl.sort(key[None, :]).reshape([N]) & 0xFFFF
    tl.store(out + at, tl.load(x + order))


@case(seed=[11])
def shuffle(seed):
    def reference(x):
        order = sorted(range(32), key=lambda i: (philox(seed, i)[0], i))
        return x[torch.tensor(order)]

    return KernelCase(
        shuffle_kernel,
        grid=(1,),
        args=dict(x=Buffer(32), out=empty(32), seed=seed, N=32),
        reference=reference,
    )
