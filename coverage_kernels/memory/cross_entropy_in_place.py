"""Cross-entropy that overwrites the logits with their gradient, as fused LM-head losses do to save memory.

Two passes over a row longer than the block (online maximum and sum, then the gradient in place), an
ignored target that zeroes its row, label smoothing, and the loss of the right column. After Liger's kernel.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def cross_entropy_in_place_kernel(logits, targets, loss, stride, vocabulary, smoothing, count, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    target = tl.load(targets + row)
    lane = tl.arange(0, BLOCK)
    if target < 0:
        for start in range(0, vocabulary, BLOCK):
            tl.store(logits + start + lane, 0.0, mask=start + lane < vocabulary)
        tl.store(loss + row, 0.0)
        return
    top = float("-inf")
    total = 0.0
    linear = 0.0
    at_target = tl.load(logits + target).to(tl.float32)
    for start in range(0, vocabulary, BLOCK):
        inside = start + lane < vocabulary
        x = tl.load(logits + start + lane, mask=inside, other=float("-inf")).to(tl.float32)
        linear += tl.sum(tl.where(inside, x, 0.0))
        new_top = tl.maximum(top, tl.max(x))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top))
        top = new_top
    lse = top + tl.log(total)
    even = smoothing / vocabulary
    for start in range(0, vocabulary, BLOCK):
        at = start + lane
        x = tl.load(logits + at, mask=at < vocabulary, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(x - lse) - even - tl.where(at == target, 1 - smoothing, 0.0)
        tl.store(logits + at, gradient / count, mask=at < vocabulary)
    tl.store(loss + row, (lse - (1 - smoothing) * at_target - even * linear) / count)


@case(dtype=["fp32", "bf16"], smoothing=[0.0, 0.25])
def cross_entropy_in_place(dtype, smoothing):
    targets, vocabulary = (3, -100, 0, 99, 50), 100

    def reference(logits, targets):
        x = logits.clone().requires_grad_()
        rows = torch.nn.functional.cross_entropy(
            x, targets, ignore_index=-100, reduction="none", label_smoothing=smoothing
        )
        (rows.sum() / 4).backward()
        return {"logits": x.grad, "loss": rows.detach() / 4}

    return KernelCase(
        cross_entropy_in_place_kernel,
        grid=(len(targets),),
        args=dict(
            logits=Buffer((len(targets), vocabulary), dtype, strides=(vocabulary + 11, 1)),
            targets=Buffer(len(targets), "int64", fill=Values(targets)), loss=empty(len(targets)),
            stride=vocabulary + 11, vocabulary=vocabulary, smoothing=smoothing, count=4, BLOCK=32,
        ),
        reference=reference,
        reduction=vocabulary,
    )  # fmt: skip
