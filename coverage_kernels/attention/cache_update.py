"""New keys go to the cache slots a table names; slot -1 means "drop this token", and other rows stay as they are.

The store is predicated on a value from memory and scatters whole rows; an untouched row that changes, or a
row written at slot -1, is seen. Reduced from vLLM's reshape-and-cache.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case


@triton.jit
def cache_update_kernel(key, cache, slots, scale, WIDTH: tl.constexpr):
    token = tl.program_id(0)
    slot = tl.load(slots + token).to(tl.int64)
    if slot < 0:
        return
    d = tl.arange(0, WIDTH)
    tl.store(cache + slot * WIDTH + d, (tl.load(key + token * WIDTH + d) / scale).to(cache.dtype.element_ty))


@case(dtype=["fp16", "fp8e4nv"], slots=[(9, 0, -1, 4, 11), (-1, -1, 3)])
def cache_update(dtype, slots):
    width, rows = 64, 12

    def reference(key, cache):
        updated = cache.clone()
        for token, slot in enumerate(slots):
            if slot >= 0:
                updated[slot] = key[token] / 2.0
        return {"cache": updated}

    return KernelCase(
        cache_update_kernel,
        grid=(len(slots),),
        args=dict(
            key=Buffer((len(slots), width), "fp16"), cache=Buffer((rows, width), dtype),
            slots=Buffer(len(slots), "int64", fill=Values(slots)), scale=2.0, WIDTH=width,
        ),
        reference=reference,
    )  # fmt: skip
