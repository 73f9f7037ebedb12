"""Whole kernels, lowered and simulated, against the executor on the IR as it was: control flow and its copies, views,
regions, transfers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from lowering_kit import outcome
from machine_run import program_of, roomy, simulated

from harness.errors import Refusal
from harness.ir import parse_module
from harness.npu.machine import Machine, load_machine

ROWS = """
  %at = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %px = tt.splat %x : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %qx = tt.addptr %px, %at : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %py = tt.splat %y : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
  %qy = tt.addptr %py, %at : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  %a = tt.load %qx : tensor<64x!tt.ptr<i32>>
  %b = tt.load %qy : tensor<64x!tt.ptr<i32>>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
"""
SWAP = """
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b, %s = %c3)
      -> (tensor<64xi32>, tensor<64xi32>, i32) : i32 {
    %t = arith.addi %s, %i : i32
    scf.yield %q, %p, %t : tensor<64xi32>, tensor<64xi32>, i32
  }
  %w = tt.splat %r#2 : i32 -> tensor<64xi32>
  %v = arith.addi %r#1, %w : tensor<64xi32>
  tt.store %qx, %r#0 : tensor<64x!tt.ptr<i32>>
  tt.store %qy, %v : tensor<64x!tt.ptr<i32>>
"""
SHIFT = """
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b, %s = %a)
      -> (tensor<64xi32>, tensor<64xi32>, tensor<64xi32>) : i32 {
    %t = arith.muli %p, %s : tensor<64xi32>
    scf.yield %q, %s, %t : tensor<64xi32>, tensor<64xi32>, tensor<64xi32>
  }
  tt.store %qx, %r#0 : tensor<64x!tt.ptr<i32>>
  tt.store %qy, %r#2 : tensor<64x!tt.ptr<i32>>
"""
TRANSPOSED = """
  %m = tt.reshape %a : tensor<64xi32> -> tensor<8x8xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %m) -> (tensor<8x8xi32>) : i32 {
    %t = tt.trans %p {order = array<i32: 1, 0>} : tensor<8x8xi32> -> tensor<8x8xi32>
    scf.yield %t : tensor<8x8xi32>
  }
  %f = tt.reshape %r : tensor<8x8xi32> -> tensor<64xi32>
  tt.store %qx, %f : tensor<64x!tt.ptr<i32>>
"""
NESTED = """
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a) -> (tensor<64xi32>) : i32 {
    %s = scf.for %j = %i to %c3 step %c1 iter_args(%q = %p) -> (tensor<64xi32>) : i32 {
      %u = arith.addi %q, %b : tensor<64xi32>
      scf.yield %u : tensor<64xi32>
    }
    %even = arith.cmpi eq, %i, %c1 : i32
    %t = scf.if %even -> (tensor<64xi32>) {
      %d = arith.muli %s, %b : tensor<64xi32>
      scf.yield %d : tensor<64xi32>
    } else {
      scf.yield %a : tensor<64xi32>
    }
    %e = arith.addi %t, %s : tensor<64xi32>
    scf.yield %e : tensor<64xi32>
  }
  tt.store %qx, %r : tensor<64x!tt.ptr<i32>>
"""
WHILE = """
  %r:2 = scf.while (%p = %a, %k = %n) : (tensor<64xi32>, i32) -> (i32, tensor<64xi32>) {
    %go = arith.cmpi sgt, %k, %c0 : i32
    %d = arith.subi %k, %c1 : i32
    scf.condition(%go) %d, %p : i32, tensor<64xi32>
  } do {
  ^bb0(%k1: i32, %p1: tensor<64xi32>):
    %u = arith.addi %p1, %b : tensor<64xi32>
    scf.yield %u, %k1 : tensor<64xi32>, i32
  }
  %w = tt.splat %r#0 : i32 -> tensor<64xi32>
  %v = arith.addi %r#1, %w : tensor<64xi32>
  tt.store %qx, %v : tensor<64x!tt.ptr<i32>>
"""
BLOCKS = """
  cf.br ^head(%c0, %a, %b : i32, tensor<64xi32>, tensor<64xi32>)
^head(%i: i32, %p: tensor<64xi32>, %q: tensor<64xi32>):
  %go = arith.cmpi slt, %i, %n : i32
  cf.cond_br %go, ^body, ^out(%q : tensor<64xi32>)
^body:
  %j = arith.addi %i, %c1 : i32
  %u = arith.addi %p, %q : tensor<64xi32>
  %odd = arith.cmpi eq, %i, %c1 : i32
  cf.cond_br %odd, ^out(%u : tensor<64xi32>), ^head(%j, %q, %u : i32, tensor<64xi32>, tensor<64xi32>)
^out(%v: tensor<64xi32>):
  tt.store %qx, %v : tensor<64x!tt.ptr<i32>>
"""
COMBINER = """
  %m = tt.reshape %a : tensor<64xi32> -> tensor<4x16xi32>
  %o = tt.reshape %b : tensor<64xi32> -> tensor<4x16xi32>
  %r:2 = "tt.reduce"(%m, %o) <{axis = 1 : i32}> ({
  ^bb0(%p: i32, %k: i32, %q: i32, %l: i32):
    %less = arith.cmpi slt, %p, %q : i32
    cf.cond_br %less, ^left, ^other
  ^left:
    cf.br ^out(%p, %k : i32, i32)
  ^other:
    %same = arith.cmpi eq, %p, %q : i32
    cf.cond_br %same, ^tie, ^out(%q, %l : i32, i32)
  ^tie:
    %least = arith.minsi %k, %l : i32
    cf.br ^out(%p, %least : i32, i32)
  ^out(%v: i32, %w: i32):
    tt.reduce.return %v, %w : i32, i32
  }) : (tensor<4x16xi32>, tensor<4x16xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  %e = tt.expand_dims %r#0 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %f = tt.broadcast %e : tensor<4x1xi32> -> tensor<4x16xi32>
  %g = arith.subi %m, %f : tensor<4x16xi32>
  %h = tt.reshape %g : tensor<4x16xi32> -> tensor<64xi32>
  %i = tt.expand_dims %r#1 {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %j = tt.broadcast %i : tensor<4x1xi32> -> tensor<4x16xi32>
  %t = tt.reshape %j : tensor<4x16xi32> -> tensor<64xi32>
  tt.store %qx, %h : tensor<64x!tt.ptr<i32>>
  tt.store %qy, %t : tensor<64x!tt.ptr<i32>>
"""
BLOCKS_ASSERT = COMBINER.replace(
    "^left:\n", '^left:\n    %low = arith.cmpi slt, %p, %n : i32\n    tt.assert %low, "m" : i1\n'
)
IF_ASSERTS = """
  %r = "tt.reduce"(%a) <{axis = 0 : i32}> ({
  ^bb0(%p: i32, %q: i32):
    %less = arith.cmpi slt, %p, %q : i32
    %m = scf.if %less -> (i32) {
      %low = arith.cmpi slt, %p, %n : i32
      tt.assert %low, "m" : i1
      scf.yield %p : i32
    } else {
      %low = arith.cmpi sle, %q, %n : i32
      tt.assert %low, "m" : i1
      scf.yield %q : i32
    }
    tt.reduce.return %m : i32
  }) : (tensor<64xi32>) -> i32
"""
SCAN_ASSERTS = """
  %r = "tt.scan"(%a) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%p: i32, %q: i32):
    %low = arith.cmpi sle, %p, %n : i32
    tt.assert %low, "m" : i1
    %m = arith.maxsi %p, %q : i32
    tt.scan.return %m : i32
  }) : (tensor<64xi32>) -> tensor<64xi32>
  tt.store %qx, %r : tensor<64x!tt.ptr<i32>>
"""
PAIRS = """
  %j = tt.join %a, %b : tensor<64xi32> -> tensor<64x2xi32>
  %f = tt.reshape %j : tensor<64x2xi32> -> tensor<128xi32>
  %s = "tt.scan"(%f) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%p: i32, %q: i32):
    %t = arith.addi %p, %q : i32
    tt.scan.return %t : i32
  }) : (tensor<128xi32>) -> tensor<128xi32>
  %g = tt.reshape %s : tensor<128xi32> -> tensor<64x2xi32>
  %l, %r = tt.split %g : tensor<64x2xi32> -> tensor<64xi32>
  %c = tt.cat %l, %r : tensor<64xi32> -> tensor<128xi32>
  %h = tt.reshape %c : tensor<128xi32> -> tensor<2x64xi32>
  %v = "tt.reduce"(%h) <{axis = 0 : i32}> ({
  ^bb0(%p: i32, %q: i32):
    %t = arith.xori %p, %q : i32
    tt.reduce.return %t : i32
  }) : (tensor<2x64xi32>) -> tensor<64xi32>
  tt.store %qx, %v : tensor<64x!tt.ptr<i32>>
"""
AHEAD = """
  %z = arith.constant dense<0> : tensor<64xi32>
  %c64 = arith.constant 8 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %qy, %s = %z)
      -> (tensor<64x!tt.ptr<i32>>, tensor<64xi32>) : i32 {
    %t = tt.load %p : tensor<64x!tt.ptr<i32>>
    %k = tt.splat %i : i32 -> tensor<64xi32>
    %u = arith.muli %t, %k : tensor<64xi32>
    %v = arith.addi %s, %u : tensor<64xi32>
    %w = tt.splat %c64 : i32 -> tensor<64xi32>
    %q = tt.addptr %p, %w : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    scf.yield %q, %v : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
  }
  tt.store %qx, %r#1 : tensor<64x!tt.ptr<i32>>
"""
KERNELS = {
    "swap": SWAP,
    "shift": SHIFT,
    "transposed": TRANSPOSED,
    "nested": NESTED,
    "while": WHILE,
    "combiner": COMBINER,
    "pairs": PAIRS,
    "ahead": AHEAD,
}


def kernel(body: str) -> str:
    signature = "tt.func public @k(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32)"
    return f"module {{\n{signature} {{\n{ROWS}{body}  tt.return\n}}\n}}\n"


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.integers(-9, 9, 128).astype(np.int32), rng.integers(-9, 9, 256).astype(np.int32)]


@pytest.mark.parametrize("trips", range(5))
@pytest.mark.parametrize("name", KERNELS)
def test_like_the_executor(name: str, trips: int) -> None:
    text, arguments = kernel(KERNELS[name]), [*arrays(), trips]
    want = outcome(parse_module(text, "k"), arguments, 1, "earliest")
    for machine in (roomy("tiny"), load_machine("default")):
        for copies in ("earliest", "latest"):
            assert simulated(text, arguments, 1, machine, copies) == want, (machine.name, copies)


@pytest.mark.parametrize("limit", [8, -10])
@pytest.mark.parametrize("body", [BLOCKS_ASSERT, IF_ASSERTS, SCAN_ASSERTS], ids=["blocks", "if", "scan"])
def test_assertions_of_a_region(body: str, limit: int) -> None:
    """As `debug=True` has in integer sums. The side of a branch that is not taken asserts nothing."""
    text, arguments = kernel(body), [*arrays(), limit]
    assert arguments[0][:64].max() == 8, "the largest violates what is asserted of the smaller"
    want = outcome(parse_module(text, "k"), arguments, 1, "earliest")
    assert (want == "AssertionTrap") == (limit < 0)
    assert simulated(text, arguments, 1, roomy("tiny")) == want


SQUARE = """module {
tt.func public @k(%x: !tt.ptr<i32>, %n: i32) {
  %c8 = arith.constant dense<8> : tensor<8x1xi32>
  %at = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %r = tt.expand_dims %at {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %s = arith.muli %r, %c8 : tensor<8x1xi32>
  %i = tt.broadcast %s : tensor<8x1xi32> -> tensor<8x8xi32>
  %c = tt.expand_dims %at {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
  %j = tt.broadcast %c : tensor<1x8xi32> -> tensor<8x8xi32>
  %o = arith.addi %i, %j : tensor<8x8xi32>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<8x8x!tt.ptr<i32>>
  %q = tt.addptr %p, %o : tensor<8x8x!tt.ptr<i32>>, tensor<8x8xi32>
  %v = tt.load %q : tensor<8x8x!tt.ptr<i32>>
  %t = tt.trans %v {order = array<i32: 1, 0>} : tensor<8x8xi32> -> tensor<8x8xi32>
  tt.store %q, %t : tensor<8x8x!tt.ptr<i32>>
  tt.return
}
}
"""
BLOCK = """module {
tt.func public @k(%x: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c1 = arith.constant 1 : i64
  %w = arith.constant 8 : i64
  %d = tt.make_tensor_descriptor %x, [%c8, %c8], [%w, %c1] : !tt.ptr<i32>, !tt.tensordesc<8x8xi32>
  %v = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<8x8xi32> -> tensor<8x8xi32>
  tt.descriptor_store %d[%c0, %c0], %v : !tt.tensordesc<8x8xi32>, tensor<8x8xi32>
  tt.return
}
}
"""


def of_dimensions(count: int) -> Machine:
    machine = load_machine("tiny")
    return dataclasses.replace(machine, dma=dataclasses.replace(machine.dma, dimensions=count))


def test_tiles_of_more_axes_than_the_dma_has_are_lists_of_addresses() -> None:
    arguments = [arrays()[0], 0]
    want = outcome(parse_module(SQUARE, "k"), arguments, 1, "earliest")
    assert simulated(SQUARE, arguments, 1, of_dimensions(1)) == want


def test_blocks_of_more_axes_than_the_dma_has_are_refused() -> None:
    assert program_of(BLOCK, of_dimensions(2))
    with pytest.raises(
        Refusal, match=r"k:8:\d+: a block of 2 axes is more than a DMA descriptor of the machine has \(1\)"
    ):
        program_of(BLOCK, of_dimensions(1))


EXCHANGE = """
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %c1, %q = %n) -> (i32, i32) : i32 {
    scf.yield %q, %p : i32, i32
  }
  tt.store %x, %r#0 : !tt.ptr<i32>
  tt.store %y, %r#1 : !tt.ptr<i32>
"""


def test_registers_for_values_that_change_places_count() -> None:
    machine = load_machine("tiny")
    enough = program_of(kernel(EXCHANGE), machine).registers
    fewer = dataclasses.replace(machine, scalar=dataclasses.replace(machine.scalar, registers=enough - 1))
    with pytest.raises(Refusal, match=f"k:2:.* needs {enough} scalar registers, and machine 'tiny' has {enough - 1}"):
        program_of(kernel(EXCHANGE), fewer)


@pytest.mark.parametrize("trips", range(5))
def test_loops_of_blocks(trips: int) -> None:
    """`npu-inline` makes branches of scf out of blocks, and has none for loops; the passes after it do."""
    text, arguments = kernel(BLOCKS), [*arrays(), trips]
    want = outcome(parse_module(text, "k"), arguments, 1, "earliest")
    passes = ("npu-place-lanes", "npu-allocate")
    assert simulated(text, arguments, 1, roomy("tiny"), passes=passes) == want


def test_two_buffers_need_no_copy() -> None:
    """The tile that is loaded ahead is worked on where it was loaded."""
    program = program_of(kernel(AHEAD), load_machine("default"))
    loads = [one for one in program.instructions if one.opcode == "dma_load"]
    assert len({one.results[0].address for one in loads}) >= 2  # pyright: ignore[reportAttributeAccessIssue]
    copied = [one for one in program.instructions if one.opcode == "copy" and one.results[0] in loads[-1].results]
    assert not copied


def test_an_accumulator_is_added_to_in_place() -> None:
    text = """module {
tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i64
  %c1w = arith.constant 1 : i64
  %z = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = npu.load %x[%c16, %c1w] : !tt.ptr<f32> -> tensor<16x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (tensor<16x16xf32>) : i32 {
    %d = tt.dot %a, %a, %s : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  }
  npu.store %r to %x[%c16, %c1w] : tensor<16x16xf32> -> !tt.ptr<f32>
  tt.return
}
}
"""
    program = program_of(text, load_machine("default"))
    (product,) = [one for one in program.instructions if one.opcode == "matmul"]
    assert product.results[0] == product.operands[2]
