"""What the executor cannot do is refused by name, with the line, and never guessed."""

from __future__ import annotations

import numpy as np
import pytest
from executor_kit import module, plan_of, pointers, run

from harness.errors import UnsupportedOp

CHOSEN_DESCRIPTOR = """
 %i = tt.get_program_id x : i32
 %c0 = arith.constant 0 : i32
 %c1 = arith.constant 1 : i64
 %n = arith.constant 4 : i32
 %a = tt.make_tensor_descriptor %x, [%n], [%c1] : !tt.ptr<f32>, !tt.tensordesc<tensor<4xf32>>
 %b = tt.make_tensor_descriptor %y, [%n], [%c1] : !tt.ptr<f32>, !tt.tensordesc<tensor<4xf32>>
 %even = arith.cmpi eq, %i, %c0 : i32
 %d = arith.select %even, %a, %b : !tt.tensordesc<tensor<4xf32>>
 %v = tt.descriptor_load %d[%c0] : !tt.tensordesc<tensor<4xf32>> -> tensor<4xf32>
 %lanes = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
 %first = arith.muli %i, %n : i32
 %own = tt.addptr %z, %first : !tt.ptr<f32>, i32
 %zs = tt.splat %own : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
 %at = tt.addptr %zs, %lanes : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
 tt.store %at, %v : tensor<4x!tt.ptr<f32>>
"""


def test_each_program_may_choose_its_descriptor() -> None:
    buffers = [np.full(4, 1.0, np.float32), np.full(4, 2.0, np.float32), np.zeros(8, np.float32)]
    plan = plan_of(module(CHOSEN_DESCRIPTOR, *pointers(*buffers)))
    assert run(plan, buffers, (2,)).arrays[2].tolist() == [1.0] * 4 + [2.0] * 4


PADDED_DIFFERENTLY = """
 %i = tt.get_program_id x : i32
 %c0 = arith.constant 0 : i32
 %c1 = arith.constant 1 : i64
 %n = arith.constant 3 : i32
 %even = arith.cmpi eq, %i, %c0 : i32
 %d = scf.if %even -> (!tt.tensordesc<tensor<4xf32>>) {
  %a = tt.make_tensor_descriptor %x, [%n], [%c1] {padding = 1 : i32} : !tt.ptr<f32>, !tt.tensordesc<tensor<4xf32>>
  scf.yield %a : !tt.tensordesc<tensor<4xf32>>
 } else {
  %b = tt.make_tensor_descriptor %x, [%n], [%c1] {padding = 2 : i32} : !tt.ptr<f32>, !tt.tensordesc<tensor<4xf32>>
  scf.yield %b : !tt.tensordesc<tensor<4xf32>>
 }
 %v = tt.descriptor_load %d[%c0] : !tt.tensordesc<tensor<4xf32>> -> tensor<4xf32>
"""


def test_descriptors_of_different_padding_do_not_become_one() -> None:
    buffers = [np.ones(4, np.float32)]
    plan = plan_of(module(PADDED_DIFFERENTLY, *pointers(*buffers)))
    with pytest.raises(UnsupportedOp, match="different padding"):
        run(plan, buffers, (2,))


DOT = """
 %a = arith.constant dense<1> : tensor<4x4xKIND>
 %c = arith.constant dense<0> : tensor<4x4xi32>
 %d = tt.dot %a, %a, %c : tensor<4x4xKIND> * tensor<4x4xKIND> -> tensor<4x4xi32>
"""


@pytest.mark.parametrize("kind", ["i16", "i32"])
def test_a_product_of_wider_integers_is_refused(kind: str) -> None:
    with pytest.raises(UnsupportedOp, match=rf"tt\.dot of {kind} operands into i32"):
        plan_of(module(DOT.replace("KIND", kind)))


INLINE_ASSEMBLY = """
 %a = arith.constant dense<1> : tensor<4xi32>
 %b = tt.elementwise_inline_asm "mov.b32 $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true}
  %a : tensor<4xi32> -> tensor<4xi32>
"""


def test_inline_assembly_is_refused() -> None:
    with pytest.raises(UnsupportedOp, match=r"tt\.elementwise_inline_asm"):
        plan_of(module(INLINE_ASSEMBLY))
