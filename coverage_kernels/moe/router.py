"""The router: softmax over the experts, the k best by repeated argmax, their weights renormalised.

The number of experts is no power of two, so padding lanes must lose every round; a chosen expert must not
be chosen again.
"""

import triton
import triton.language as tl

from harness.cases import Arange, Buffer, KernelCase, case, empty


@triton.jit
def router_kernel(
    logits, weights, experts, count, tokens, stride, TOP_K: tl.constexpr, BT: tl.constexpr, BE: tl.constexpr
):  # fmt: skip
    token = tl.program_id(0) * BT + tl.arange(0, BT)
    expert = tl.arange(0, BE)
    inside = (token < tokens)[:, None] & (expert < count)[None, :]
    x = tl.load(logits + token[:, None] * stride + expert[None, :], mask=inside, other=float("-inf")).to(tl.float32)
    top = tl.max(tl.where((token < tokens)[:, None], x, 0.0), 1)
    rest = tl.exp(x - top[:, None])
    total = tl.zeros((BT,), tl.float32)
    for k in tl.static_range(TOP_K):
        best, chosen = tl.max(rest, 1, return_indices=True)
        tl.store(weights + token * TOP_K + k, best, mask=token < tokens)
        tl.store(experts + token * TOP_K + k, chosen, mask=token < tokens)
        rest = tl.where(expert[None, :] == chosen[:, None], -1.0, rest)
        total += best
    for k in tl.static_range(TOP_K):
        at = weights + token * TOP_K + k
        tl.store(at, tl.load(at, mask=token < tokens) / total, mask=token < tokens)


@case(dtype=["fp32", "bf16"], top_k=[1, 3], count=[6, 8])
def router(dtype, top_k, count):
    tokens = 21

    def reference(logits):
        weights, experts = logits.softmax(-1).topk(top_k)
        return {"weights": weights / weights.sum(-1, keepdim=True), "experts": experts.int()}

    return KernelCase(
        router_kernel,
        grid=(triton.cdiv(tokens, 8),),
        args=dict(
            logits=Buffer((tokens, count), dtype, strides=(count + 3, 1), fill=Arange(-50, 37)),
            weights=empty((tokens, top_k)), experts=empty((tokens, top_k), "int32"), count=count, tokens=tokens,
            stride=count + 3, TOP_K=top_k, BT=8, BE=8,
        ),
        reference=reference,
        reduction=count,
    )  # fmt: skip
