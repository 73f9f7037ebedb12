"""Access patterns against NumPy: what a tile is, bit by bit, and what instructions on tiles compute."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from machine_kit import Assembly, Buffers, launched

from harness.executor.ops_reduce import accumulate, fold
from harness.ir.enums import INPUT_PRECISION
from harness.npu.isa.program import Combiner, Formal, Instruction, Tile
from harness.npu.simulator.layout import Layout, is_merged
from harness.npu.simulator.ops_fold import halved
from harness.semantics import numpy_dtype
from harness.semantics.tensor import combiner_for

LANES = 8
EXAMPLES = examples(40)


@st.composite
def tiles(draw) -> Tile:
    """A tile at some address whose axes lie in some order with gaps between, repeat, or are over the lanes."""
    extents = tuple(draw(st.sampled_from([1, 2, 4, 8, 16, 32])) for _ in range(draw(st.integers(1, 3))))
    lane = draw(st.sampled_from([None, *range(len(extents))]))
    runs = [max(1, n // LANES) if axis == lane else n for axis, n in enumerate(extents)]
    strides, step = [0] * len(extents), 1
    for axis in draw(st.permutations(range(len(extents)))):
        strides[axis] = draw(st.sampled_from([0, step, step, step, 2 * step]))
        step = max(step, strides[axis] * runs[axis])
    kind = draw(st.sampled_from(["i8", "f16", "f32", "i64"]))
    address = draw(st.integers(0, 5)) * 8 // numpy_dtype(kind).itemsize * numpy_dtype(kind).itemsize
    return Tile(address, kind, extents, tuple(strides), lane)


def byte_of(tile: Tile, index: tuple[int, ...], lanes: int) -> int:
    """Where an element starts in a scratchpad of which `lanes` lanes are kept, by the words of the manual."""
    width, depth, lane = numpy_dtype(tile.element).itemsize, 0, 0
    for axis, number in enumerate(index):
        if axis == tile.lane_axis:
            lane, number = number % LANES, number // LANES
        depth += number * tile.strides[axis]
    if tile.lane_axis is None:
        return tile.address + depth * width
    return (tile.address + depth * width) * lanes + lane * width


@EXAMPLES
@given(tiles(), tiles())
def test_views_and_footprints_are_those_of_the_memory_map(tile, other):
    """Of two tiles, which overlap or do not: then each has a part of its own."""
    layout = Layout([tile, other], LANES)
    part = layout.part_of(tile)
    members = [one for one in (tile, other) if layout.part_of(one) == part]
    used = [min(LANES, one.extents[one.lane_axis]) for one in members if one.lane_axis is not None]
    lanes = max(used, default=1)
    start = min(one.address // 8 * 8 for one in members) * lanes
    view = layout.view(tile, None if is_merged(tile, LANES) else tile.lane_axis)
    offsets = np.zeros(view.shape, np.int64)
    for axis, stride in enumerate(view.strides):
        column = [1] * len(view.shape)
        column[axis] = view.shape[axis]
        offsets = offsets + (np.arange(view.shape[axis]) * stride).reshape(column)
    offsets = (offsets + view.offset + start).reshape(tile.extents)
    touched = set()
    for index in np.ndindex(tile.extents):
        first = byte_of(tile, index, lanes)
        assert offsets[index] == first
        touched.update(range(first - start, first - start + view.dtype.itemsize))
    ranges = list(zip(*(ends.tolist() for ends in layout.footprint(tile)), strict=True))
    assert {byte for first, last in ranges for byte in range(first, last)} == touched
    assert all(end < first for (_, end), (first, _) in itertools.pairwise(ranges))
    assert view.offset >= 0 and max(touched) < layout.row_bytes[part]
    if len(members) == 1 and (tile.lane_axis is None) == (other.lane_axis is None):
        assert tile.address != other.address


@EXAMPLES
@given(
    st.lists(st.sampled_from([1, 2, 4, 16, 32]), min_size=1, max_size=3),
    st.data(),
    st.sampled_from(["i8", "f16", "f32"]),
)
def test_relayouts_keep_the_order_of_the_elements(extents, data, element):
    """Through two placements and shapes, strides of any order, and back to memory."""
    total = int(np.prod(extents))
    assume(total <= 256)
    code = Assembly("ptr", "ptr")
    x, out = code.argument(0), code.argument(1)
    row = code.scalar("arith.muli", (code.program_id(), code.constant(total, "i32")), "i32")
    dtype = numpy_dtype(element)
    placements = st.sampled_from([None, *range(len(extents))])
    first = code.tile(element, extents, data.draw(placements))
    order = data.draw(st.permutations(range(len(extents))))
    lane = data.draw(placements)
    strides, step = [0] * len(extents), 1
    for axis in order:
        strides[axis] = step
        step *= max(1, extents[axis] // LANES) if axis == lane else extents[axis]
    second = code.tile(element, extents, lane, strides=strides)
    third = code.tile(element, (total,), data.draw(st.sampled_from([None, 0])))
    dense = [int(np.prod(extents[axis + 1 :])) for axis in range(len(extents))]
    code.load(first, code.moved(x, row, dtype.itemsize), dense)
    code.emit("relayout", [second], [first])
    code.emit("relayout", [third], [second])
    code.store(third, code.moved(out, row, dtype.itemsize), [1])
    code.emit("halt")
    numbers = np.arange(3 * total).astype(dtype)
    result = np.zeros_like(numbers)
    launched(code, (3, 1, 1), Buffers(x=numbers, out=result))
    np.testing.assert_array_equal(result, numbers)


# --- elementwise ----------------------------------------------------------------------------------------------------


def stored(code: Assembly, tile: Tile, size: int) -> np.ndarray:
    """What the tile holds in two programs, through a buffer that is the last argument."""
    total = int(np.prod(tile.extents))
    out = code.argument(len(code.program.arguments) - 1)
    row = code.scalar("arith.muli", (code.program_id(), code.constant(total, "i32")), "i32")
    dense = [int(np.prod(tile.extents[axis + 1 :])) for axis in range(len(tile.extents))]
    code.store(tile, code.moved(out, row, size), dense, tag=9)
    code.emit("halt")
    return np.zeros((2, *tile.extents), numpy_dtype(tile.element))


@pytest.mark.parametrize("lane", [0, 1])
@pytest.mark.parametrize("innermost", [0, 1])
def test_vectors_broadcast_uniform_tiles_registers_and_constants(lane, innermost):
    """Of tiles whose runs of lanes adjoin, and whose runs do not."""
    code = Assembly("ptr")
    runs = [2 if axis == lane else 16 for axis in range(2)]
    strides = (1, runs[0]) if innermost == 0 else (runs[1], 1)
    result = code.tile("i32", (16, 16), lane, strides=strides)
    varying = code.tile("i32", (16, 16), lane, strides=strides)
    along = 1 - lane
    uniform = code.tile("i32", (16, 16), None, strides=[0 if axis == lane else 1 for axis in range(2)])
    line = Tile(uniform.address, "i32", (16,), (1,), None)
    code.emit("iota", [line], [], 100, 0)
    code.emit("iota", [varying], [], 0, lane)
    code.vector("arith.muli", varying, (varying, code.constant(1000, "i32")))
    code.vector("arith.addi", result, (varying, uniform))
    code.vector("arith.addi", result, (result, code.program_id()))
    out = stored(code, result, 4)
    launched(code, (2, 1, 1), Buffers(out=out))
    lanes, others = np.indices((16, 16))[lane], np.indices((16, 16))[along]
    np.testing.assert_array_equal(out[1], 1000 * lanes + 100 + others + 1)


@pytest.mark.parametrize(
    ("name", "kinds", "result", "attributes"),
    [
        ("arith.addf", ("f32", "f32"), "f32", {}),
        ("arith.addf", ("bf16", "bf16"), "bf16", {}),
        ("arith.cmpf", ("f32", "f32"), "i1", {"predicate": "olt"}),
        ("arith.maximumf", ("f32", "f32"), "f32", {}),
        ("math.exp", ("f32",), "f32", {}),
        ("arith.truncf", ("f32",), "f16", {}),
        ("arith.truncf", ("f64",), "f16", {}),
        ("arith.extf", ("f16",), "f32", {}),
        ("arith.fptosi", ("f32",), "i32", {}),
        ("arith.sitofp", ("i32",), "f32", {}),
        ("arith.extsi", ("i8",), "i64", {}),
        ("arith.trunci", ("i64",), "i8", {}),
        ("arith.extui", ("i8",), "i32", {}),
        ("arith.select", ("i1", "f32", "f32"), "f32", {}),
        ("math.fma", ("f32", "f32", "f32"), "f32", {}),
    ],
)
def test_a_vector_instruction_is_its_function_of_the_semantics(name, kinds, result, attributes):
    from harness.semantics import Signature, elementwise_function

    rng = np.random.default_rng(7)
    values = [(rng.normal(size=(2, 32)) * 3).astype(numpy_dtype(kind)) for kind in kinds]
    code = Assembly(*("ptr" for _ in kinds), "ptr")
    row = code.scalar("arith.muli", (code.program_id(), code.constant(32, "i32")), "i32")
    sources = [code.tile(kind, (32,)) for kind in kinds]
    for number, (tile, one) in enumerate(zip(sources, values, strict=True)):
        code.load(tile, code.moved(code.argument(number), row, one.itemsize), [1])
    target = code.tile(result, (32,))
    code.vector(name, target, sources, **attributes)
    out = stored(code, target, numpy_dtype(result).itemsize)
    launched(code, (2, 1, 1), Buffers(**{f"x{n}": one for n, one in enumerate(values)}, out=out))
    want = elementwise_function(Signature(name, kinds, (result,), attributes))(*values)
    assert out.tobytes() == want.tobytes()


def test_a_result_may_lie_on_top_of_its_operands():
    """As an allocator does that reuses what dies: read, then written, for every element."""
    code = Assembly("ptr")
    numbers, chosen = code.tile("i32", (32,)), code.tile("i1", (32,))
    code.emit("iota", [numbers], [], 0, 0)
    code.vector("arith.cmpi", chosen, (numbers, code.constant(10, "i32")), predicate="slt")
    shifted = Tile(numbers.address, "i32", (16,), (1,), 0)
    ahead = Tile(numbers.address + 4, "i32", (16,), (1,), 0)
    code.vector("arith.select", numbers, (chosen, code.constant(-1, "i32"), numbers))
    few = code.tile("i1", (32,))
    code.vector("arith.cmpi", few, (numbers, code.constant(30, "i32")), predicate="sle")
    code.vector("arith.select", numbers, (few, numbers, code.constant(7, "i32")))
    code.vector("arith.addi", ahead, (shifted, ahead))
    out = stored(code, numbers, 4)
    launched(code, (2, 1, 1), Buffers(out=out))
    want = np.where(np.arange(32) < 10, -1, np.arange(32))
    want[31] = 7
    want[8:24] = want[:16] + want[8:24]
    np.testing.assert_array_equal(out[1], want)


def test_lookups_histograms_and_maps():
    code = Assembly("ptr", "ptr")
    values, indices = code.tile("i32", (16,)), code.tile("i32", (16,))
    code.emit("iota", [values], [], 5, 0)
    code.emit("iota", [indices], [], -3, 0)
    picked = code.tile("i32", (16,))
    code.emit("lookup", [picked], [values, indices], 0)
    counts = code.tile("i32", (8,), None)
    code.emit("histogram", [counts], [picked, None])
    swap = Combiner(("i32", "i32"), (), (Formal(1, "i32"), Formal(0, "i32")))
    code.program.combiners.append(swap)
    pairs = code.tile("i32", (16,))
    code.emit("map", [pairs], [picked], 0, 2)
    code.store(counts, code.argument(0), [1])
    out = stored(code, pairs, 4)
    histogram = np.zeros(8, np.int32)
    launched(code, (2, 1, 1), Buffers(histogram=histogram, out=out))
    want = 5 + np.clip(np.arange(16) - 3, 0, 15)
    np.testing.assert_array_equal(out[0].reshape(8, 2), want.reshape(8, 2)[:, ::-1])
    np.testing.assert_array_equal(histogram, [0, 0, 0, 0, 0, 4, 1, 1])


# --- folds, scans, products ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("lane", [0, 1])
@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("arith.addf", "f32"),
        ("arith.addf", "f16"),
        ("arith.maxnumf", "f32"),
        ("arith.addi", "i32"),
        ("arith.andi", "i1"),
    ],
)
def test_folds_halve_and_scans_double(axis, lane, name, element):
    code = Assembly("ptr", "ptr", "ptr")
    dtype = numpy_dtype(element)
    rng = np.random.default_rng(3)
    data = (rng.normal(size=(16, 32)) * 4).astype(dtype)
    tile, scanned = code.tile(element, (16, 32), lane), code.tile(element, (16, 32), lane)
    rest = (32,) if axis == 0 else (16,)
    folded = code.tile(element, rest, 0 if lane != axis else None)
    combiner = code.combiner(name, element)
    code.load(tile, code.argument(0), [32, 1])
    code.emit("fold", [folded], [tile], axis, combiner)
    code.emit("scan", [scanned], [tile], axis, combiner, 1)
    code.store(folded, code.argument(1), [1])
    code.store(scanned, code.argument(2), [32, 1])
    code.emit("halt")
    sums, scans = np.zeros(rest, dtype), np.zeros_like(data)
    launched(code, (1, 1, 1), Buffers(data=data, sums=sums, scans=scans))
    combine = combiner_for(name, element)
    assert combine is not None
    if name == "arith.addf":
        assert sums.tobytes() == halved(data[None], axis + 1, np.add).tobytes()
        tolerance = 1e-5 if element == "f32" else 0.05
        flipped = np.flip(np.cumsum(np.flip(data, axis).astype(np.float64), axis), axis)
        np.testing.assert_allclose(scans.astype(np.float64), flipped, rtol=tolerance, atol=tolerance * 20)
        return
    assert sums.tobytes() == fold(data[None], axis + 1, combine)[0].tobytes()
    assert scans.tobytes() == np.flip(accumulate(np.flip(data, axis)[None], axis + 1, combine)[0], axis).tobytes()


def test_the_order_of_a_fold_and_of_a_scan():
    """Sums that round tell in which order they were taken."""
    data = np.array([1, 1e8, -1e8, 3, 5, 1e-3, 7, 1e8], np.float32)
    code = Assembly("ptr", "ptr", "ptr")
    tile, scanned, total = code.tile("f32", (8,)), code.tile("f32", (8,)), code.register("f32")
    combiner = code.combiner("arith.addf", "f32")
    code.load(tile, code.argument(0), [1])
    code.emit("fold", [total], [tile], 0, combiner)
    code.emit("scan", [scanned], [tile], 0, combiner, 0)
    code.emit("scalar_store", [], [code.argument(1), total, None])
    code.store(scanned, code.argument(2), [1])
    code.emit("halt")
    total, scans = np.zeros(1, np.float32), np.zeros(8, np.float32)
    launched(code, (1, 1, 1), Buffers(data=data, total=total, scans=scans))
    fours = data[:4] + data[4:]
    twos = fours[:2] + fours[2:]
    assert total[0] == twos[0] + twos[1]
    want = data.copy()
    for distance in (1, 2, 4):
        want[distance:] = want[:-distance] + want[distance:]
    np.testing.assert_array_equal(scans, want)


def test_a_fold_of_two_values_with_a_region_that_reads_a_register():
    """The greatest element and its place, of elements up to a limit that a register holds."""
    code = Assembly("ptr", "ptr", "ptr")
    limit = code.scalar("arith.addi", (code.program_id(), code.constant(50, "i32")), "i32")
    values, places = code.tile("i32", (16,)), code.tile("i32", (16,))
    code.load(values, code.argument(0), [1])
    code.emit("iota", [places], [], 0, 0)
    greater = code.function("arith.cmpi", ("i32", "i32"), "i1", predicate="sgt")
    smaller = code.function("arith.minsi", ("i32", "i32"), "i32")
    select = code.function("arith.select", ("i1", "i32", "i32"), "i32")
    a, i, b, j = (Formal(number, "i32") for number in range(4))
    body = (
        Instruction("scalar", (), (a, limit), (smaller,)),
        Instruction("scalar", (), (b, limit), (smaller,)),
        Instruction("scalar", (), (Formal(4, "i32"), Formal(5, "i32")), (greater,)),
        Instruction("scalar", (), (Formal(6, "i1"), Formal(4, "i32"), Formal(5, "i32")), (select,)),
        Instruction("scalar", (), (Formal(6, "i1"), i, j), (select,)),
    )
    code.program.combiners.append(Combiner(("i32",) * 4, body, (Formal(7, "i32"), Formal(8, "i32"))))
    best, place = code.register("i32"), code.register("i32")
    code.emit("fold", [best, place], [values, places], 0, 0)
    code.emit("scalar_store", [], [code.moved(code.argument(1), code.program_id(), 4), best, None])
    code.emit("scalar_store", [], [code.moved(code.argument(2), code.program_id(), 4), place, None])
    code.emit("halt")
    data = np.array([3, 1, 40, 50, 7, 51, 0, 0, 0, 0, 52, 0, 0, 0, 0, 9], np.int32)
    best_, place_ = np.zeros(3, np.int32), np.zeros(3, np.int32)
    launched(code, (3, 1, 1), Buffers(data=data, best=best_, place=place_))
    assert best_.tolist() == [50, 51, 52]
    assert all(data[place] >= best for best, place in zip(best_.tolist(), place_.tolist(), strict=True))


@pytest.mark.parametrize(("kind", "result"), [("f32", "f32"), ("f16", "f16"), ("i8", "i32")])
def test_products_go_by_chunks_of_the_array_s_rows(kind, result):
    rng = np.random.default_rng(11)
    dtype, wide = numpy_dtype(kind), numpy_dtype(result)
    a, b = ((rng.normal(size=shape) * 20).astype(dtype) for shape in ((4, 32), (32, 16)))
    c = (rng.normal(size=(4, 16)) * 20).astype(wide)
    code = Assembly("ptr", "ptr", "ptr", "ptr")
    tiles = [code.tile(kind, (4, 32)), code.tile(kind, (32, 16)), code.tile(result, (4, 16))]
    for number, tile in enumerate(tiles):
        code.load(tile, code.argument(number), [tile.extents[1], 1])
    accumulator = code.tile(result, (4, 16))
    code.emit("matmul", [accumulator], tiles, INPUT_PRECISION.values["ieee"], 0)
    code.store(accumulator, code.argument(3), [16, 1])
    code.emit("halt")
    out = np.zeros((4, 16), wide)
    launched(code, (1, 1, 1), Buffers(a=a, b=b, c=c, out=out))
    if kind == "i8":
        np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32) + c)
        return
    want = c.astype(np.float32)
    for first in range(0, 32, 8):
        want = want + a[:, first : first + 8].astype(np.float32) @ b[first : first + 8].astype(np.float32)
    assert np.abs(out.astype(np.float64) - want).max() <= np.abs(want).max() * (1e-6 if kind == "f32" else 1e-3)
