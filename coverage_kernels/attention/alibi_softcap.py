"""Scores changed before the softmax: a tanh soft cap, a linear bias per head (ALiBi), or both.

The slope is a scalar loaded per program and the bias an outer difference of two ranges; tanh is built from
exp, as kernels do that avoid libdevice.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def alibi_softcap_kernel(
    q, k, v, slopes, out, scale, cap, T: tl.constexpr, D: tl.constexpr, SOFTCAP: tl.constexpr, ALIBI: tl.constexpr
):  # fmt: skip
    head = tl.program_id(0)
    t = tl.arange(0, T)
    at = head * T * D + t[:, None] * D + tl.arange(0, D)[None, :]
    scores = tl.dot(tl.load(q + at), tl.trans(tl.load(k + at)), input_precision="ieee") * scale
    if SOFTCAP:
        grown = tl.exp(2 * scores / cap)
        scores = cap * (grown - 1) / (grown + 1)
    if ALIBI:
        scores += tl.load(slopes + head) * (t[None, :] - t[:, None])
    weights = tl.exp(scores - tl.max(scores, 1, keep_dims=True))
    weights /= tl.sum(weights, 1, keep_dims=True)
    tl.store(out + at, tl.dot(weights, tl.load(v + at), input_precision="ieee"))


@case(softcap=[False, True], alibi=[False, True])
def alibi_softcap(softcap, alibi):
    heads, t, d = 3, 32, 16
    shape = (heads, t, d)

    def reference(q, k, v, slopes):
        scores = q @ k.mT * d**-0.5
        scores = 2.5 * torch.tanh(scores / 2.5) if softcap else scores
        distance = (torch.arange(t)[None, :] - torch.arange(t)[:, None]).double()
        return (scores + alibi * slopes[:, None, None] * distance).softmax(-1) @ v

    return KernelCase(
        alibi_softcap_kernel,
        grid=(heads,),
        args=dict(
            q=Buffer(shape), k=Buffer(shape), v=Buffer(shape), slopes=Buffer(heads, fill=Values((0.5, 0.25, 0.125))),
            out=empty(shape),
            scale=d**-0.5, cap=2.5, T=t, D=d, SOFTCAP=softcap, ALIBI=alibi,
        ),
        reference=reference,
        reduction=t,
    )  # fmt: skip
