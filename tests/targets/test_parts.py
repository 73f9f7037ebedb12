"""The small parts of a run: targets by name, roles, the kind of operation, what native code says."""

from __future__ import annotations

import os
import threading

import pytest

from harness.cases import Buffer, KernelCase, empty
from harness.cases.allocate import Allocated, allocate
from harness.errors import UsageError
from harness.targets.operation import operation_of
from harness.targets.registry import DEFAULT_TARGET, target_named, targets
from harness.targets.roles import measured_roles
from harness.targets.stderr_log import stderr_log
from harness.targets.target import LaunchOutcome
from harness.targets.warm_up import warm_up


def test_targets_are_found_by_name_and_an_unknown_one_lists_them():
    assert [target_named(name).name for name in targets()] == list(targets())
    assert target_named(DEFAULT_TARGET).simulated
    with pytest.raises(UsageError, match=r"no target 'nqu'.*npu, ttir, interpreter, gpu"):
        target_named("nqu")


def test_a_target_that_cannot_run_here_says_so_in_one_sentence():
    with pytest.raises(UsageError, match="TRITON_INTERPRET=1"):
        target_named("interpreter").check()
    target_named("npu").check()


def _allocated() -> Allocated:
    base = empty(8)
    kernel = type("Kernel", (), {"arg_names": ["x", "y", "z", "whole", "half"]})()
    arguments = {"x": Buffer(4), "y": empty(4), "z": Buffer(4), "whole": base, "half": base.view((4,))}
    return allocate(KernelCase(kernel, (1,), arguments), "seed")


def test_roles_are_what_the_launches_loaded_and_stored():
    outcomes = [LaunchOutcome(loads={"x"}, stores={"y"}), LaunchOutcome(loads={"y", "whole"}, stores={"whole"})]
    roles = measured_roles(_allocated(), outcomes, {"y", "whole"})
    # `half` is another name for bytes that the golden of `whole` speaks for.
    assert roles == {"x": "in", "y": "inout", "z": "unused", "whole": "inout", "half": "in"}


def test_no_roles_are_claimed_where_accesses_cannot_be_seen():
    assert measured_roles(_allocated(), [LaunchOutcome()], {"y"}) == {}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("%1 = tt.load %0 : x loc(#loc1)\n tt.store %2, %1\n%3 = arith.addi %a, %b : i32", "move"),
        ("%1 = arith.addf %a, %b : f32", "arithmetic"),
        ('%1 = "tt.reduce"(%0) <{axis = 0 : i32}> ({', "arithmetic"),
        ("%1 = tt.fp_to_fp %0, rounding = rtne : f32 -> f8E5M2", "conversion"),
        ("%1 = arith.truncf %0 : f32 to f16\n%2 = arith.addf %a, %b : f32", "arithmetic"),
        ("%x = math.sqrt %a : f32", "arithmetic"),
        ("%x = math.exp2 %a : f32", "transcendental"),
        ('%x = tt.extern_elementwise %a {symbol = "__nv_erff"}', "transcendental"),
        ("", "transcendental"),
    ],
)
def test_the_kind_of_operation_is_read_off_the_ir(text: str, kind: str):
    assert operation_of([text]).kind == kind


def test_what_native_code_writes_to_stderr_is_kept_and_passed_on(capfd: pytest.CaptureFixture[str]):
    with stderr_log() as log:
        os.write(2, b"k.py:1:2: error: no\n")
        assert log.text() == "k.py:1:2: error: no\n"
    assert capfd.readouterr().err.endswith("k.py:1:2: error: no\n")


def test_warming_up_starts_no_thread_that_a_fork_would_lose():
    before = threading.active_count()
    warm_up()
    assert threading.active_count() == before
