"""What Triton's front end and TTIR passes can produce: every op, with the types and kinds it takes.

Read off `triton/language/{core,semantic,math}.py` and the builder of libtriton, releases 3.6 to 3.9 (3.9
adds `arith.negf`, left out here because no older release can exercise it). Types are written as MLIR
writes them; the words are those of `harness.targets.op_usage`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

FLOATS = ("f16", "bf16", "f32", "f64")
# fp8e4nv, fp8e5, fp8e4b8 and fp8e5b16. MLIR has no type for fp8e4b15: its conversions are ops on i16.
FP8 = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
INTEGERS = ("i8", "i16", "i32", "i64")
_NO_BF16 = ("f16", "f32", "f64")
_WIDE_FLOATS = ("f32", "f64")  # what libdevice and the math ops take
_WIDE_INTEGERS = ("i32", "i64")
_NUMBERS = (*FLOATS, *INTEGERS)
_MOVED = ("i1", *_NUMBERS)
_STORED = (*_NUMBERS, *FP8)
_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, **dict.fromkeys(FP8, 8)}
_BITS |= {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
_AXES = ("x", "y", "z")
_NONE: tuple[str, ...] = ()


def _casts(sources: Iterable[str], targets: Iterable[str], change: int | None = None) -> tuple[str, ...]:
    """`a->b` for every pair; with `change`, only those that widen (1), narrow (-1) or keep (0) the width."""
    targets = tuple(targets)
    pairs = [(one, other) for one in sources for other in targets if one != other]
    kept = [(a, b) for a, b in pairs if change is None or _sign(_BITS[b] - _BITS[a]) == change]
    return tuple(f"{a}->{b}" for a, b in kept)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _each(names: str, variants: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names.split(), variants)


def _atomics() -> tuple[str, ...]:
    names = ("and", "or", "xor", "add", "max", "min", "umax", "umin")
    kinds = [f"{name} {one}" for name in names for one in _WIDE_INTEGERS]
    exchanges = [f"exch {one}" for one in (*_WIDE_INTEGERS, *_WIDE_FLOATS)]
    return (*kinds, *(f"fadd {one}" for one in FLOATS), *exchanges)


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES = ("oeq", "une", "olt", "ole", "ogt", "oge")
_SCALED = ("e2m1", "e4m3", "e5m2", "bf16", "fp16")

FRONT_END_OPS: dict[str, tuple[str, ...]] = {
    **_each("arith.addf arith.subf arith.mulf", FLOATS),
    # The front end divides f16 and bf16 in f32, and compares bf16 there.
    **_each("arith.divf arith.remf", _WIDE_FLOATS),
    **_each("arith.maximumf arith.minimumf arith.maxnumf arith.minnumf tt.clampf", _NO_BF16),
    **_each("arith.addi arith.subi arith.muli arith.divsi arith.divui arith.remsi arith.remui", INTEGERS),
    **_each("arith.shli arith.shrsi arith.shrui arith.maxsi arith.minsi arith.maxui arith.minui", INTEGERS),
    **_each("arith.andi arith.ori arith.xori", ("i1", *INTEGERS)),
    "arith.cmpi": (*_PREDICATES, *INTEGERS),
    "arith.cmpf": (*_FLOAT_PREDICATES, *FLOATS),
    "arith.constant": _MOVED,
    "arith.bitcast": _NONE,
    "arith.select": _MOVED,
    "arith.extf": ("f16->f32", "bf16->f32", "f32->f64"),  # a cast of f16 or bf16 to f64 is two
    "arith.truncf": _casts(FLOATS, FLOATS, -1),
    "arith.extsi": _casts(INTEGERS, INTEGERS, 1),
    "arith.extui": _casts(("i1", *INTEGERS), INTEGERS, 1),
    "arith.trunci": _casts(INTEGERS, INTEGERS, -1),
    "arith.sitofp": _casts(INTEGERS, FLOATS),
    "arith.uitofp": _casts(("i1", *INTEGERS), FLOATS),
    # Casts of the narrow floats go through f32.
    **_each("arith.fptosi arith.fptoui", _casts(_WIDE_FLOATS, INTEGERS)),
    **_each("math.exp math.exp2 math.log math.log2 math.sin math.cos math.sqrt math.rsqrt math.erf", _WIDE_FLOATS),
    **_each("math.floor math.ceil", _WIDE_FLOATS),
    "math.absf": FLOATS,
    "math.absi": INTEGERS,
    "math.fma": FLOATS,
    "tt.precise_sqrt": ("f32",),
    "tt.precise_divf": ("f32",),
    "tt.mulhiui": _WIDE_INTEGERS,
    "tt.fp_to_fp": (*_casts(FP8, FLOATS[:3]), *_casts(FLOATS[:3], FP8), "f32->f16", "f32->bf16"),
    "tt.bitcast": tuple(
        f"{a}->{b}" for a, b in permutations(_STORED, 2) if _BITS[a] == _BITS[b] and (a in INTEGERS or b in INTEGERS)
    ),
    **_each("tt.ptr_to_int tt.int_to_ptr", ("i64",)),
    "tt.extern_elementwise": (*_WIDE_FLOATS, *_WIDE_INTEGERS),
    "tt.elementwise_inline_asm": _NONE,
    "tt.map_elementwise": ("f32", "i32"),
    "tt.addptr": _WIDE_INTEGERS,
    **_each("tt.load tt.store", _STORED),
    "tt.atomic_rmw": _atomics(),
    "tt.atomic_cas": _WIDE_INTEGERS,
    **_each("tt.make_tensor_descriptor tt.descriptor_load tt.descriptor_store", ("f16", "bf16", "f32", "i8", "i32")),
    **_each("tt.descriptor_gather tt.descriptor_scatter", ("f16", "f32", "i32")),
    "tt.descriptor_reduce": ("f16", "f32", "i32"),
    **_each("tt.make_tensor_ptr tt.advance", _NONE),
    **_each("tt.splat tt.broadcast tt.expand_dims tt.reshape tt.trans", _MOVED),
    **_each("tt.join tt.split tt.cat tt.gather", _NUMBERS),
    "tt.unsplat": ("f32", "i32", "i64"),
    "tt.make_range": ("i32",),
    "tt.histogram": ("i32",),
    "tt.reduce": _MOVED,
    "tt.scan": _NUMBERS,
    "tt.dot": (*FLOATS, *FP8, "i8"),
    "tt.dot_scaled": _SCALED,
    **_each("tt.get_program_id tt.get_num_programs", _AXES),
    **_each("tt.print tt.assert tt.call tt.return ttg.barrier llvm.intr.assume ub.poison", _NONE),
    **_each("scf.for scf.if scf.while cf.br cf.cond_br", _NONE),
}

# Ops that a run on the default target cannot show, and why.
UNREACHABLE: dict[str, str] = {
    "tt.make_tensor_ptr": "Triton's pass for block pointers rewrites it; a run with --target ttir executes it",
    "tt.advance": "Triton's pass for block pointers rewrites it; a run with --target ttir executes it",
    "ub.poison": "only code that no program reaches, which Triton's passes drop; it is there with --target ttir",
    "arith.bitcast": "only between equal integer types, which Triton's passes fold; it is there with --target ttir",
    "tt.elementwise_inline_asm": "refused by name: the text is a GPU's assembly",
}

# One op under another release's name.
ALIASES = {"gpu.barrier": "ttg.barrier"}
