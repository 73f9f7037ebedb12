"""Which modules are the same program."""

from __future__ import annotations

import pytest

from harness.bisect.program import program_key

BLOCKED = "#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
MODULE = """module {
  tt.func public @k(%x: !tt.ptr<f32> loc("x"(#loc)), %n: i32) attributes {noinline = false} {
    %c = arith.constant 2 : i32 loc(#loc3)
    %a = arith.addi %n, %c : i32
    %b = arith.muli %a, %n : i32
    %r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %q = tt.addptr %p, %r : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %v = tt.load %q : tensor<4x!tt.ptr<f32>>
    %w = arith.addf %v, %v : tensor<4xf32>
    tt.store %q, %w : tensor<4x!tt.ptr<f32>>
    tt.return
  }
}
#loc3 = loc("k.py":3:4)
"""
KEY = program_key(MODULE)

SAME = {
    "names": MODULE.replace("%a", "%first").replace("%v", "%7"),
    "locations": MODULE.replace("loc(#loc3)", 'loc(callsite("f(x)"("k.py":9:1) at #loc))').replace("k.py", "m.py"),
    "layouts": BLOCKED + MODULE.replace("4xf32>", "4xf32, #blocked>").replace("ptr<f32>>", "ptr<f32>, #blocked>"),
    "layouts written out": MODULE.replace(
        "4xf32>", "4xf32, #ttg.slice<{dim = 0, parent = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>}>>"
    ),
    "the order of ops without effects": MODULE.replace("    %c = arith.constant 2 : i32 loc(#loc3)\n", "").replace(
        "    %a = arith.addi", "    %c = arith.constant 2 : i32\n    %a = arith.addi"
    ),
    "a common subexpression": MODULE.replace("%w = arith.addf %v, %v", "%w = arith.addf %v, %v").replace(
        "    tt.store %q", "    %q2 = tt.addptr %p, %r : tensor<4x!tt.ptr<f32>>, tensor<4xi32>\n    tt.store %q2"
    ),
    "a conversion of layout": MODULE.replace(
        "    %w = arith.addf %v, %v",
        "    %u = ttg.convert_layout %v : tensor<4xf32> -> tensor<4xf32, #blocked>\n    %w = arith.addf %u, %v",
    ),
    "the scheduler's hints": MODULE.replace(
        "%v = tt.load %q :", "%v = tt.load %q {loop.cluster = 1 : i32, loop.stage = 0 : i32} :"
    ),
    "the module's attributes": MODULE.replace("module {", 'module attributes {ttg.target = "cuda:90"} {'),
    "code that nobody reaches": MODULE.replace(
        "    tt.return\n", "    tt.return\n  ^bb1:  // no predecessors\n    tt.return\n"
    ),
    "a function that nobody calls": MODULE.replace(
        "  tt.func public", "  tt.func private @unused(%z: i32) {\n    tt.return\n  }\n  tt.func public"
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_what_is_left_out(what: str) -> None:
    assert SAME[what] != MODULE or what == "a common subexpression"
    assert program_key(SAME[what]) == KEY


OTHER = {
    "a constant": ("end = 4 : i32, start = 0", "end = 5 : i32, start = 1"),
    "an operand": ("tt.store %q, %w", "tt.store %q, %v"),
    "the order of operands": ("tt.addptr %p, %r", "tt.addptr %r, %p"),
    "an op": ("arith.addf", "arith.mulf"),
    "a type": ("arith.addf %v, %v : tensor<4xf32>", "arith.addf %v, %v : tensor<4xf64>"),
    "an effect": ("    tt.return\n", "    tt.store %q, %w : tensor<4x!tt.ptr<f32>>\n    tt.return\n"),
    "an attribute that counts": ("%v = tt.load %q :", "%v = tt.load %q {isVolatile = true} :"),
    "a result's number": ("tt.store %q, %w", "tt.store %q, %w#1"),
}


@pytest.mark.parametrize("what", OTHER)
def test_what_counts(what: str) -> None:
    old, new = OTHER[what]
    assert old in MODULE
    assert program_key(MODULE.replace(old, new)) != KEY


def test_the_order_of_effects_counts() -> None:
    lines = MODULE.splitlines(keepends=True)
    load = next(line for line in lines if "tt.load" in line)
    again = "    %l = tt.load %p : tensor<4x!tt.ptr<f32>>\n"
    assert program_key(MODULE.replace(load, load + again)) != program_key(MODULE.replace(load, again + load))


def test_layouts_of_shared_memory_count() -> None:
    keys = {program_key(f"#shared = #ttg.swizzled_shared<{{vec = {vec}}}>\n{MODULE}") for vec in (1, 2)}
    assert len(keys) == 2


def test_a_definition_after_its_use_counts() -> None:
    """Blocks may stand in any order in the text."""
    text = """module {
  tt.func public @k(%n: i32) {
    cf.br ^bb2
  ^bb1:
    tt.print "x" : %v : i32
    tt.return
  ^bb2:
    %v = arith.addi %n, %n : i32
    cf.br ^bb1
  }
}
"""
    assert program_key(text) != program_key(text.replace("addi", "muli"))
    assert program_key(text) == program_key(text.replace("%v", "%w"))


def test_two_loops_whose_variables_share_a_name() -> None:
    """What an inner op computes depends on which loop it is in, also where the names are the same."""

    def loops(first: str, second: str) -> str:
        body = "".join(
            f"    scf.for {name} = %n to %n step %n  : i32 {{\n      %a = arith.addi {name}, %n : i32\n"
            f'      tt.print "x" : %a : i32\n    }}\n'
            for name in (first, second)
        )
        return f"module {{\n  tt.func public @k(%n: i32) {{\n{body}    tt.return\n  }}\n}}\n"

    assert program_key(loops("%i", "%i")) == program_key(loops("%j", "%j"))
    swapped = loops("%i", "%j").replace("arith.addi %j, %n", "arith.addi %n, %j")
    assert program_key(loops("%i", "%j")) != program_key(swapped)
