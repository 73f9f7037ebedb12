"""Cache modifiers, eviction policies and `volatile` on loads and stores: hints that change no value."""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def cache_modifiers_kernel(
    x, out, n, LOAD: tl.constexpr, STORE: tl.constexpr, EVICT: tl.constexpr, VOLATILE: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(
        x + at, mask=at < n, other=0.0, cache_modifier=LOAD, eviction_policy=EVICT, volatile=VOLATILE
    )  # fmt: skip
    tl.store(out + at, value + 1, mask=at < n, cache_modifier=STORE, eviction_policy=EVICT)


# PTX takes a cache modifier or an eviction policy, not both.
HINTS = {
    "none": ("", "", "", False),
    "ca-wb": (".ca", ".wb", "", False),
    "cg-cs": (".cg", ".cs", "", False),
    "cv-wt": (".cv", ".wt", "", False),
    "first": ("", "", "evict_first", False),
    "last": ("", "", "evict_last", False),
    "volatile": ("", ".cg", "", True),
}


@case(hints=list(HINTS), dtype=["fp32"])
def cache_modifiers(hints, dtype):
    load, store, evict, volatile = HINTS[hints]
    n = 200
    return KernelCase(
        cache_modifiers_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(n, dtype),
            out=empty(n, dtype),
            n=n,
            LOAD=load,
            STORE=store,
            EVICT=evict,
            VOLATILE=volatile,
            BLOCK=128,
        ),
        reference=lambda x: x + 1,
    )
