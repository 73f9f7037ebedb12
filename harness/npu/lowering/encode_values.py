"""Encoding of what computes: elementwise ops, folds, products, and what moves elements."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from harness.executor.ops_scalar import keywords
from harness.executor.types import element, get
from harness.ir import operand
from harness.npu.isa.program import Register, Tile
from harness.npu.lowering.combiners import combiner_of
from harness.npu.lowering.emitter import Emitter, pointee_size, rule
from harness.npu.lowering.placed import is_tile, width_of
from harness.semantics import ELEMENTWISE


def elementwise(emitter: Emitter, operation: Operation) -> None:
    """One scalar or vector instruction of the function that the op is."""
    result = operation.results[0]
    attributes = keywords(operation)
    if operation.name == "tt.addptr":
        attributes = {"size": pointee_size(result.type)}
    operands = [emitter.operand(value) for value in operation.operands]
    number = emitter.function(operation.name, attributes, [one.element for one in operands], [element(result.type)])
    opcode = "vector" if is_tile(result) else "scalar"
    emitter.emit(opcode, (emitter.result(result),), operands, (number,))


def views_or_elementwise(emitter: Emitter, operation: Operation) -> None:
    """Nothing where the result is a view of its operand."""
    if emitter.views.has_storage(operation.results[0]):
        elementwise(emitter, operation)


for _name in (*ELEMENTWISE, "tt.addptr", "tt.ptr_to_int"):
    rule(_name)(elementwise)
rule("tt.bitcast", "arith.bitcast", "tt.int_to_ptr")(views_or_elementwise)


@rule(
    "arith.constant", "ub.poison", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.trans",
    "llvm.intr.assume", "tt.debug_barrier", "ttg.barrier", "gpu.barrier", "ttg.local_barrier",
)  # fmt: skip
def _nothing(emitter: Emitter, operation: Operation) -> None:
    """Constants and views are where they are used; the threads of one program always agree here."""


@rule("tt.get_program_id", "tt.get_num_programs")
def _grid(emitter: Emitter, operation: Operation) -> None:
    opcode = "program_id" if operation.name == "tt.get_program_id" else "num_programs"
    emitter.emit(opcode, (emitter.register(operation.results[0]),), (), (get(operation, "axis"),))


# --- moving elements


@rule("tt.make_range")
def _make_range(emitter: Emitter, operation: Operation) -> None:
    emitter.emit("iota", (emitter.tile(operation.results[0]),), (), (get(operation, "start"), 0))


@rule("npu.relayout", "tt.reshape")
def _relayout(emitter: Emitter, operation: Operation) -> None:
    """A copy where source and result are placed alike: a register, constant or view made a tile of its own."""
    result = operation.results[0]
    if not emitter.views.has_storage(result):
        return
    source, target = emitter.operand(operation.operands[0]), emitter.tile(result)
    alike = isinstance(source, Tile) and source.extents == target.extents and fits(source, target)
    if alike or not isinstance(source, Tile):
        emitter.move_to(target, source)
    else:
        emitter.emit("relayout", (target,), (source,))


def fits(source: Tile, target: Tile) -> bool:
    """Whether every lane has what it needs of the source."""
    if source.lane_axis == target.lane_axis:
        return True
    axis = target.lane_axis
    return source.lane_axis is None and axis is not None and (source.strides[axis] == 0 or source.extents[axis] == 1)


@rule("tt.unsplat")
def _unsplat(emitter: Emitter, operation: Operation) -> None:
    source, result = emitter.operand(operation.operands[0]), operation.results[0]
    if isinstance(source, Tile):
        emitter.emit("extract", (emitter.register(result),), (source,))
    else:
        emitter.move(result, source)


@rule("tt.join")
def _join(emitter: Emitter, operation: Operation) -> None:
    """Two copies, each into every other element along the new last axis."""
    whole = emitter.tile(operation.results[0])
    width = width_of(operation.results[0].type)
    for part, value in enumerate(operation.operands):
        address = whole.address + part * whole.strides[-1] * width
        target = Tile(address, whole.element, whole.extents[:-1], whole.strides[:-1], whole.lane_axis)
        emitter.move_to(target, emitter.operand(value))


@rule("tt.split")
def _split(emitter: Emitter, operation: Operation) -> None:
    if any(emitter.views.has_storage(value) for value in operation.results):
        raise emitter.refuse(operation, "splits the axis that is spread over the lanes")


@rule("tt.gather")
def _gather(emitter: Emitter, operation: Operation) -> None:
    operands = [emitter.operand(value) for value in operation.operands]
    emitter.emit("lookup", (emitter.tile(operation.results[0]),), operands, (get(operation, "axis"),))


@rule("tt.histogram")
def _histogram(emitter: Emitter, operation: Operation) -> None:
    source, mask = operand(operation, "src"), operand(operation, "mask")
    assert source is not None
    emitter.emit("histogram", (emitter.tile(operation.results[0]),), (emitter.operand(source), emitter.optional(mask)))


# --- regions


def _results(emitter: Emitter, operation: Operation) -> list[Tile | Register]:
    return [emitter.result(value) for value in operation.results]  # type: ignore[misc]


def _sources(emitter: Emitter, values: list[SSAValue]) -> list[Tile]:
    return [emitter.tile(value) for value in values]


@rule("tt.reduce")
def _reduce(emitter: Emitter, operation: Operation) -> None:
    number = emitter.combiner(combiner_of(emitter, operation))
    sources = _sources(emitter, list(operation.operands))
    emitter.emit("fold", _results(emitter, operation), sources, (get(operation, "axis"), number))


@rule("tt.scan")
def _scan(emitter: Emitter, operation: Operation) -> None:
    number = emitter.combiner(combiner_of(emitter, operation))
    sources = _sources(emitter, list(operation.operands))
    reverse = bool(get(operation, "reverse", 0))
    emitter.emit("scan", _results(emitter, operation), sources, (get(operation, "axis"), number, reverse))


@rule("tt.map_elementwise")
def _map(emitter: Emitter, operation: Operation) -> None:
    number = emitter.combiner(combiner_of(emitter, operation))
    sources = _sources(emitter, list(operation.operands))
    emitter.emit("map", _results(emitter, operation), sources, (number, get(operation, "pack", 1)))


@rule("tt.elementwise_inline_asm")
def _inline_assembly(emitter: Emitter, operation: Operation) -> None:
    from harness.executor.ops_inline_asm import known_assembly

    kinds = tuple(element(value.type) for value in (*operation.operands, *operation.results))
    text = get(operation, "asm_string")
    if len(kinds) != 2:
        raise emitter.refuse(operation, f"of {text[:40]!r} is not known to the machine")
    known_assembly(text, kinds)  # raises UnsupportedOp, which the caller places
    immediates = (emitter.text(text), emitter.text(get(operation, "constraints")), get(operation, "packed_element", 1))
    sources = [emitter.operand(value) for value in operation.operands]
    emitter.emit("inline_assembly", _results(emitter, operation), sources, immediates)


# --- products


@rule("tt.dot")
def _dot(emitter: Emitter, operation: Operation) -> None:
    operands = [emitter.operand(value) for value in operation.operands]
    immediates = (get(operation, "inputPrecision"), get(operation, "maxNumImpreciseAcc", 0))
    emitter.emit("matmul", (emitter.tile(operation.results[0]),), operands, immediates)


@rule("tt.dot_scaled")
def _dot_scaled(emitter: Emitter, operation: Operation) -> None:
    operands = [emitter.optional(operand(operation, name)) for name in ("a", "a_scale", "b", "b_scale", "c")]
    names = ("a_elem_type", "b_elem_type", "fastMath", "lhs_k_pack", "rhs_k_pack")
    emitter.emit(
        "matmul_scaled", (emitter.tile(operation.results[0]),), operands, [int(get(operation, name)) for name in names]
    )
