"""Faults in the compiled module: what a broken front end, pass or lowering would hand to the executor."""

from __future__ import annotations

from harness.cases.options import Checks

from .edits import composed, declared, preceded, replaced_op, retargeted, rewritten, swapped
from .fault import Edit, Fault, edited

ADD = "coverage_kernels/elementwise/add.py::add[fp32-1000]"
ADD_OFFSET = "coverage_kernels/elementwise/add.py::add_at_an_offset[4]"
SOFTMAX = "coverage_kernels/reduce/softmax.py::softmax[fp32-1x7]"
LONG_ROW = "coverage_kernels/reduce/sum_axis.py::sum_of_a_long_row[1000-fp32]"
TAILS = "coverage_kernels/gemm/tails.py::tails[fp32-33x65x47]"
TRANSPOSE = "coverage_kernels/layout/transpose.py::transpose[fp16-33x70]"
DIVISION = "coverage_kernels/elementwise/integer_division.py::truncated_division[int32]"
MASKED_LOAD = "coverage_kernels/memory/masked_load.py::masked_load[scalar-fp32]"
POINTER_TABLE = "coverage_kernels/memory/pointer_table.py::pointer_table[fp32-true]"
SPIN_LOCK = "coverage_kernels/atomics/spin_lock.py::spin_lock[6-3]"
EARLY_RETURN = "coverage_kernels/control_flow/early_return.py::early_return[0x1x2x1x0]"

WRONG, OUTSIDE = "wrong-values", "trap-out-of-bounds"

_LOAD_MASK = rewritten(r"tt\.load SSA, SSA(?:, SSA)?", r"tt.load \1")
_STORE_MASK = rewritten(r"tt\.store SSA, SSA, SSA", r"tt.store \1, \2")
_THROUGH_F16 = preceded(
    r"tt\.store SSA, SSA(.*) tensor<(\d+)x!tt\.ptr<f32>>",
    r"%narrow = arith.truncf \2 : tensor<\4xf32> to tensor<\4xf16>",
    r"%wide = arith.extf %narrow : tensor<\4xf16> to tensor<\4xf32>",
    r"tt.store \1, %wide\3 tensor<\4x!tt.ptr<f32>>",
)
_SHORT_LOOP = preceded(
    r"(.*scf\.for SSA = SSA to) SSA step SSA", r"%short = arith.subi \4, \5 : i32", r"\1 %short step \5"
)
_SHIFTED_STORE = preceded(
    r"tt\.store SSA, SSA(.*) tensor<(\d+)x!tt\.ptr<f32>>",
    r"%less = arith.constant dense<-1> : tensor<\4xi32>",
    r"%moved = tt.addptr \1, %less : tensor<\4x!tt.ptr<f32>>, tensor<\4xi32>",
    r"tt.store %moved, \2\3 tensor<\4x!tt.ptr<f32>>",
)


def _moved_address(by: int) -> Edit:
    return preceded(
        r"SSA = tt\.int_to_ptr SSA",
        rf"%far = arith.constant {by} : i64",
        r"%moved = arith.addi \2, %far : i64",
        r"\1 = tt.int_to_ptr %moved",
    )


def _fault(name: str, breaks: str, bucket: str, case: str, edit: Edit, checks: Checks = "fast") -> Fault:
    return Fault(name, breaks, bucket, case, edited(edit), checks=checks)


def program_faults() -> list[Fault]:
    return [*_arithmetic(), *_memory(), *_tensors(), *_control(), *_unreadable()]


def _arithmetic() -> list[Fault]:
    comparison = "coverage_kernels/elementwise/comparison.py"
    return [
        _fault("swapped-subf", "both operands of a float subtraction", WRONG, SOFTMAX, swapped("arith.subf")),
        _fault("swapped-divf", "both operands of a float division", WRONG, SOFTMAX, swapped("arith.divf")),
        _fault(
            "swapped-subi",
            "both operands of an integer subtraction",
            WRONG,
            "coverage_kernels/elementwise/integer_arithmetic.py::integer_wrap[int32]",
            swapped("arith.subi"),
        ),
        _fault("exp-is-exp2", "the base of an exponential", WRONG, SOFTMAX, replaced_op("math.exp", "math.exp2")),
        _fault(
            "divsi-is-divui", "signed division as unsigned", WRONG, DIVISION, replaced_op("arith.divsi", "arith.divui")
        ),
        _fault(
            "divsi-is-floordivsi",
            "division rounds down and not to zero",
            WRONG,
            DIVISION,
            replaced_op("arith.divsi", "arith.floordivsi"),
        ),
        _fault(
            "remsi-is-remui", "signed remainder as unsigned", WRONG, DIVISION, replaced_op("arith.remsi", "arith.remui")
        ),
        _fault(
            "sgt-is-sge",
            "a comparison takes equal values in",
            WRONG,
            "coverage_kernels/reduce/logical.py::count_above[0]",
            replaced_op("arith.cmpi sgt", "arith.cmpi sge"),
        ),
        _fault(
            "ordered-is-unordered",
            "a float comparison with NaN is true",
            WRONG,
            f"{comparison}::comparisons[fp32]",
            rewritten(r"arith\.cmpf o(l|g)t", r"arith.cmpf u\1t", 0),
        ),
        _fault(
            "select-negated",
            "both arms of a select",
            WRONG,
            f"{comparison}::where[fp32-int1]",
            rewritten(r"arith\.select SSA, SSA, SSA", r"arith.select \1, \3, \2"),
        ),
        _fault(
            "extsi-is-extui",
            "an integer is widened without its sign",
            WRONG,
            "coverage_kernels/cast/cast.py::integer_to_signed[int8]",
            replaced_op("arith.extsi", "arith.extui"),
        ),
        _fault(
            "sitofp-is-uitofp",
            "a negative integer becomes a large float",
            WRONG,
            "coverage_kernels/cast/cast.py::integer_to_floats[int8]",
            replaced_op("arith.sitofp", "arith.uitofp", 0),
        ),
        _fault(
            "fp-to-fp-rounding",
            "a conversion to fp8 drops bits and does not round",
            WRONG,
            "coverage_kernels/cast/fp8.py::to_fp8_halfway[fp8e4nv]",
            replaced_op("rounding = rtne", "rounding = rtz"),
        ),
        _fault("stored-through-f16", "a float32 result is rounded to float16", WRONG, ADD, _THROUGH_F16),
        _fault(
            "dot-in-tf32",
            "an ieee dot rounds its operands to tf32",
            WRONG,
            "coverage_kernels/gemm/input_precision.py::input_precision[ieee-64]",
            rewritten(r"tt\.dot SSA, SSA, SSA", r"tt.dot \1, \2, \3, inputPrecision = tf32"),
        ),
        _fault(
            "wrong-dtype",
            "float16 memory is read as bfloat16",
            WRONG,
            "coverage_kernels/elementwise/add.py::add[fp16-1000]",
            rewritten(r"\bf16\b|(?<=x)f16\b", "bf16", 0),
        ),
    ]


def _memory() -> list[Fault]:
    return [
        _fault("load-mask-dropped", "a load reads past the end", OUTSIDE, ADD, _LOAD_MASK),
        _fault("store-mask-dropped", "a store writes past the end", OUTSIDE, ADD, _STORE_MASK),
        _fault(
            "slt-is-sle",
            "a bound lets one element too many through",
            OUTSIDE,
            ADD,
            replaced_op("arith.cmpi slt", "arith.cmpi sle"),
        ),
        _fault(
            "other-lost",
            "masked lanes of a load get no `other`",
            WRONG,
            MASKED_LOAD,
            rewritten(r"tt\.load SSA, SSA, SSA", r"tt.load \1, \2"),
        ),
        _fault(
            "other-wrong",
            "masked lanes get 0 and not -inf",
            WRONG,
            SOFTMAX,
            rewritten("dense<0xFF800000>", "dense<0.000000e+00>"),
        ),
        _fault(
            "range-off-by-one",
            "tt.make_range starts and ends one later",
            WRONG,
            ADD,
            rewritten(r"end = 256 : i32, start = 0 : i32", "end = 257 : i32, start = 1 : i32"),
        ),
        _fault(
            "block-stride-too-large",
            "programs are a constant plus one apart",
            WRONG,
            ADD,
            rewritten("arith.constant 256 : i32", "arith.constant 257 : i32"),
        ),
        _fault(
            "program-id-lost",
            "no address has the program id in it",
            WRONG,
            ADD,
            rewritten(r"tt\.get_program_id x", "arith.constant 0"),
        ),
        _fault(
            "rows-on-one-row",
            "all programs store their row over the first one",
            "race",
            "coverage_kernels/reduce/softmax.py::softmax[fp32-5x64]",
            rewritten(r"(arith\.muli(?:.|\n)*)arith\.muli SSA, SSA", r"\1arith.subi \3, \3"),
            "full",
        ),
        _fault(
            "store-shifted",
            "a store goes one element too low, before the view",
            "wrote-outside",
            ADD_OFFSET,
            _SHIFTED_STORE,
        ),
        _fault("store-into-input", "the result is stored over an input", "input-changed", ADD, retargeted(2, 0)),
        _fault(
            "load-from-output",
            "an operand is loaded from the output, which nobody has written",
            "uninitialised-read",
            ADD,
            retargeted(0, 2),
            "full",
        ),
        _fault(
            "pointer-astray", "a pointer from a table points nowhere", OUTSIDE, POINTER_TABLE, _moved_address(1 << 40)
        ),
        _fault(
            "pointer-misaligned", "a pointer from a table is a byte off", "trap-other", POINTER_TABLE, _moved_address(1)
        ),
        _fault(
            "atomic-add-is-exchange",
            "an atomic forgets what was there",
            WRONG,
            "coverage_kernels/gather_scatter/scatter.py::index_add[fp32]",
            replaced_op("tt.atomic_rmw fadd", "tt.atomic_rmw exch"),
        ),
    ]


def _tensors() -> list[Fault]:
    squares = "tests/mutation/cases/squares.py"
    return [
        _fault(
            "reduce-axis",
            "a reduction over the other axis of a square",
            WRONG,
            f"{squares}::row_sums[16]",
            rewritten(r"(tt\.reduce.*axis =) 1", r"\1 0"),
        ),
        _fault(
            "reduce-combiner",
            "a sum takes the maximum",
            WRONG,
            f"{squares}::row_sums[16]",
            rewritten(r"arith\.addf (.*) : f32", r"arith.maxnumf \1 : f32"),
        ),
        _fault(
            "maximum-propagates-nan",
            "a maximum that ignores NaN lets it win",
            WRONG,
            "coverage_kernels/reduce/extremes.py::extremes_ignore_nan[fp32]",
            replaced_op("arith.maxnumf", "arith.maximumf"),
        ),
        _fault(
            "argmax-tie",
            "of equal values the last index is taken",
            WRONG,
            "coverage_kernels/reduce/extremes.py::argmax_with_ties[1-int64]",
            replaced_op("arith.cmpi slt", "arith.cmpi sgt"),
        ),
        _fault(
            "scan-reversed",
            "a scan runs from the other end",
            WRONG,
            "coverage_kernels/scan/cumulative.py::cumsum[fp32-1-false]",
            rewritten("reverse = false", "reverse = true"),
        ),
        _fault(
            "transpose-lost",
            "a transpose keeps the order of the axes",
            WRONG,
            f"{squares}::transpose[16]",
            rewritten("order = array<i32: 1, 0>", "order = array<i32: 0, 1>"),
        ),
        _fault(
            "dot-accumulator-dropped",
            "a dot in a loop starts from zero each time",
            WRONG,
            TAILS,
            rewritten(r"(iter_args\(SSA = SSA\)(?:.|\n)*)tt\.dot SSA, SSA, SSA", r"\1tt.dot \4, \5, \3"),
        ),
        _fault("dot-operands-swapped", "both operands of a dot", WRONG, TAILS, swapped("tt.dot")),
    ]


def _control() -> list[Fault]:
    return [
        _fault(
            "program-ids-swapped",
            "program ids of axes x and y trade places",
            WRONG,
            TRANSPOSE,
            composed(
                rewritten("get_program_id x", "get_program_id swap"),
                rewritten("get_program_id y", "get_program_id x"),
                rewritten("get_program_id swap", "get_program_id y"),
            ),
        ),
        _fault(
            "program-id-pinned",
            "the program id of axis y is always 0",
            WRONG,
            TRANSPOSE,
            rewritten("tt.get_program_id y", "arith.constant 0"),
        ),
        _fault("loop-one-step-short", "a loop stops one step early", WRONG, LONG_ROW, _SHORT_LOOP),
        _fault(
            "branch-inverted",
            "a branch takes the other way",
            WRONG,
            EARLY_RETURN,
            rewritten(r"(cmpi sgt(?:.|\n)*?cf\.cond_br SSA), (\^\w+), (\^\w+)", r"\1, \4, \3"),
        ),
        _fault(
            "lock-never-released",
            "the store that frees a lock stores 1",
            "trap-other",
            SPIN_LOCK,
            composed(
                declared("%taken = arith.constant 1 : i32"),
                rewritten(r"(exch, acq_rel, gpu, SSA), SSA", r"\1, %taken", 0),
            ),
        ),
        _fault(
            "endless-loop",
            "the condition of a while loop is always true",
            "trap-other",
            "coverage_kernels/control_flow/while_loop.py::while_loop[int32-1]",
            composed(
                declared("%always = arith.constant true"),
                rewritten(r"scf\.condition\(SSA\)", "scf.condition(%always)"),
            ),
        ),
        _fault(
            "assertion-fails",
            "the index that tl.device_assert guards wraps the wrong way",
            "trap-other",
            "coverage_kernels/control_flow/device_assert.py::device_assert[true]",
            rewritten(r"arith\.select SSA, SSA, SSA", r"arith.select \1, \3, \2"),
        ),
    ]


def _unreadable() -> list[Fault]:
    return [
        _fault(
            "unknown-operation",
            "a new release of Triton prints an operation nobody has defined",
            "unsupported-op",
            ADD,
            replaced_op("arith.addf", "arith.added_in_a_new_release"),
        ),
        _fault(
            "program-cut-short",
            "the text of the program ends in the middle",
            "unsupported-op",
            ADD,
            lambda text: text[: len(text) // 2],
        ),
    ]
