"""Pairs of kernels: one that races, and one that differs by the order its atomics make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import Outcome, plan_of, run, ttir

from harness.cases.evidence import Finding
from harness.executor import Allocation, ExecutorOptions, Memory, PointerArgument, launch


@triton.jit
def passes_a_flag(flag, data, out, SEM: tl.constexpr, WAIT: tl.constexpr, SCOPE: tl.constexpr):
    """The first program fills the data and sets the flag; the others wait for it by atomics, or by volatile loads."""
    if tl.program_id(0) == 0:
        tl.store(data, 7)
        tl.atomic_xchg(flag, 1, sem=SEM, scope=SCOPE)
    else:
        if WAIT == "volatile":
            while tl.load(flag, volatile=True) == 0:
                pass
        else:
            while tl.atomic_add(flag, 0, sem=WAIT, scope=SCOPE) == 0:
                pass
        tl.store(out + tl.program_id(0), tl.load(data))


@triton.jit
def last_one_sums(counter, parts, out, SEM: tl.constexpr, BLOCK: tl.constexpr):
    """Every program leaves its part and takes a ticket; the last one adds the parts up."""
    tl.store(parts + tl.program_id(0), tl.program_id(0) + 1)
    tl.debug_barrier()
    if tl.atomic_add(counter, 1, sem=SEM) == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, BLOCK))))


@triton.jit
def counts_under_a_lock(locks, count, out, OWN: tl.constexpr, TAKE: tl.constexpr, GIVE: tl.constexpr):
    """A counter behind a spin lock; `OWN` gives every program a lock of its own."""
    lock = locks + OWN * tl.program_id(0)
    while tl.atomic_cas(lock, 0, 1, sem=TAKE) == 1:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.atomic_xchg(lock, 0, sem=GIVE)


@triton.jit
def atomic_beside_plain(x, y, out, PLAIN: tl.constexpr, FIRST: tl.constexpr, ADDED: tl.constexpr):
    """One program accesses x by an atomic, another by plain means, before it or after."""
    if (tl.program_id(0) == 0) == FIRST:
        tl.atomic_add(x, ADDED, sem="relaxed")
    else:
        if PLAIN == "load":
            tl.store(out, tl.load(x))
        if PLAIN == "volatile":
            tl.store(out, tl.load(x, volatile=True))
        if PLAIN == "store":
            tl.store(x, 9)


@triton.jit
def readers_then_a_writer(x, flags, out, READERS: tl.constexpr, SILENT: tl.constexpr):
    """Programs read x and set flags of their own; the last one sees all the flags and overwrites x.

    The reader number `SILENT` sets its flag before it reads."""
    pid = tl.program_id(0)
    if pid < READERS:
        if pid == SILENT:
            tl.atomic_xchg(flags + pid, 1)
        tl.store(out + pid, tl.load(x))
        if pid != SILENT:
            tl.atomic_xchg(flags + pid, 1)
    else:
        seen = 0
        for i in range(READERS):
            seen += tl.atomic_add(flags + i, 0)
        tl.store(x, seen)


@triton.jit
def through_a_middleman(flags, data, out, SAME: tl.constexpr):
    """0 hands its data to 1, and 1 to 2; `SAME`: through one flag, which 1 only adds to, in no order of its own."""
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(data, 5)
        tl.atomic_add(flags, 1, sem="release")
    if pid == 1:
        if SAME:
            tl.atomic_add(flags, 1, sem="relaxed")
        else:
            tl.atomic_add(flags, 0, sem="acquire")
            tl.atomic_add(flags + 1, 1, sem="release")
    if pid == 2:
        if SAME:
            tl.atomic_add(flags, 0, sem="acquire")
        else:
            tl.atomic_add(flags + 1, 0, sem="acquire")
        tl.store(out, tl.load(data))


@triton.jit
def learns_twice(flags, data, out, SECOND: tl.constexpr):
    """2 takes the flag of 0 and reads its data, then takes that of 1, and gives its own; 3 reads the data of 1."""
    pid = tl.program_id(0)
    if pid < 2:
        tl.store(data + pid, 5)
        tl.atomic_add(flags + pid, 1, sem="release")
    if pid == 2:
        tl.atomic_add(flags, 0, sem="acquire")
        tl.store(out, tl.load(data))
        if SECOND:
            tl.atomic_add(flags + 1, 0, sem="acquire")
        tl.atomic_add(flags + 2, 1, sem="release")
    if pid == 3:
        tl.atomic_add(flags + 2, 0, sem="acquire")
        tl.store(out + 1, tl.load(data + 1))


@triton.jit
def adds_to_two_flags(flags, data, out, TAKEN: tl.constexpr):
    """0 and 1 publish at a flag each; 2 adds to both flags and acquires nothing; 3 takes one and reads data of 0."""
    pid = tl.program_id(0)
    lane = tl.arange(0, 2)
    if pid < 2:
        tl.store(data + pid, 5)
        tl.atomic_add(flags + pid, 1, sem="release")
    if pid == 2:
        tl.atomic_add(flags + lane, 1, sem="release")
    if pid == 3:
        tl.atomic_add(flags + TAKEN, 0, sem="acquire")
        tl.store(out, tl.load(data))


@triton.jit
def swaps(flag, data, out, EXPECTED: tl.constexpr):
    """Program 0 publishes by a compare-and-swap, which succeeds where the flag holds what is expected: 0."""
    if tl.program_id(0) == 0:
        tl.store(data, 5)
        tl.atomic_cas(flag, EXPECTED, 1)
    else:
        tl.atomic_add(flag, 0)
        tl.store(out, tl.load(data))


@triton.jit
def tiles(flags, data, out, FLAGS: tl.constexpr, SEEN: tl.constexpr):
    """Program 0 publishes at a tile of flags; the other one acquires at some of them."""
    lane = tl.arange(0, FLAGS)
    if tl.program_id(0) == 0:
        tl.store(data + lane, lane + 1)
        tl.atomic_add(flags + lane, 1, sem="release")
    else:
        tl.atomic_add(flags + lane, 1, mask=(lane >= 2) & (lane < SEEN), sem="acquire")
        tl.store(out + lane, tl.load(data + lane))


@triton.jit
def stores_at_a_flag(flag, data, out, PLAIN: tl.constexpr):
    """A plain store ends what was released at the flag: it races itself, and so does the data behind it."""
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(data, 5)
        tl.atomic_xchg(flag, 1)
    if pid == 1:
        if PLAIN:
            tl.store(flag, 2)
        else:
            tl.atomic_xchg(flag, 2)
    if pid == 2:
        tl.atomic_add(flag, 0)
        tl.store(out, tl.load(data))


@triton.jit
def one_writes_one_reads(x, out, what):
    if (tl.program_id(0) == 0) & (what % 2 == 1):
        tl.store(x, 7)
    if (tl.program_id(0) == 1) & (what >= 2):
        tl.store(out, tl.load(x))


def launched(kernel: Any, programs: int, batch: int = 1 << 18, **constants: Any) -> Outcome:
    """Full checks of `programs` programs over three buffers of 16 zeros: x, y and z in findings."""
    pointers = [name for name in kernel.arg_names if name not in constants]
    text = ttir(kernel, dict.fromkeys(pointers, "*i32"), constants)
    buffers = [np.zeros(16, np.int32) for _ in pointers]
    return run(plan_of(text), buffers, (programs,), ExecutorOptions(checks="full", batch_elements=batch))


def races(kernel: Any, programs: int, **constants: Any) -> set[str]:
    """The buffers that programs race on: the same for all programs in one batch and for one at a time."""
    together = launched(kernel, programs, **constants).result.findings
    alone = launched(kernel, programs, batch=1, **constants).result.findings
    assert all(finding.kind == "race" for finding in (*together, *alone))
    assert {finding.buffer for finding in together} == {finding.buffer for finding in alone}
    return {finding.buffer for finding in together}


@pytest.mark.parametrize("scope", ["gpu", "sys"])
@pytest.mark.parametrize(
    ("sem", "wait", "racing"),
    [
        ("release", "acquire", set()),
        ("acq_rel", "acq_rel", set()),
        ("relaxed", "acquire", {"y"}),
        ("release", "relaxed", {"y"}),
        ("acquire", "release", {"y"}),
        ("relaxed", "relaxed", {"y"}),
        ("release", "volatile", {"y"}),
    ],
)
def test_flags(sem: str, wait: str, racing: set[str], scope: str) -> None:
    assert races(passes_a_flag, 3, SEM=sem, WAIT=wait, SCOPE=scope) == racing


def test_atomics_of_one_program_s_scope_order_no_programs() -> None:
    assert races(passes_a_flag, 2, SEM="acq_rel", WAIT="acq_rel", SCOPE="cta") == {"y"}


@pytest.mark.parametrize(("sem", "racing"), [("acq_rel", set()), ("relaxed", {"y"}), ("release", {"y"})])
def test_the_last_program_reduces(sem: str, racing: set[str]) -> None:
    assert races(last_one_sums, 16, SEM=sem, BLOCK=16) == racing


@pytest.mark.parametrize(
    ("own", "take", "give", "racing"),
    [
        (0, "acq_rel", "acq_rel", set()),
        (0, "acquire", "release", set()),
        (0, "relaxed", "release", {"y"}),
        (0, "acquire", "relaxed", {"y"}),
        (1, "acq_rel", "acq_rel", {"y"}),
    ],
)
def test_locks(own: int, take: str, give: str, racing: set[str]) -> None:
    assert races(counts_under_a_lock, 12, OWN=own, TAKE=take, GIVE=give) == racing


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("plain", "added", "racing"),
    [
        ("load", 1, {"x"}),
        ("store", 1, {"x"}),
        ("store", 0, {"x"}),
        ("load", 0, set()),
        ("volatile", 1, set()),
        ("nothing", 1, set()),
    ],
)
def test_an_atomic_against_a_plain_access(plain: str, added: int, racing: set[str], first: bool) -> None:
    assert races(atomic_beside_plain, 2, PLAIN=plain, FIRST=first, ADDED=added) == racing


@pytest.mark.parametrize(("silent", "racing"), [(-1, set()), (0, {"x"}), (1, {"x"}), (2, {"x"}), (4, {"x"})])
def test_every_reader_of_many_must_be_ordered_before_the_writer(silent: int, racing: set[str]) -> None:
    assert races(readers_then_a_writer, 6, READERS=5, SILENT=silent) == racing


def test_order_passes_through_other_programs() -> None:
    for same in (False, True):
        assert races(through_a_middleman, 3, SAME=same) == set()


def test_what_a_program_learned_late_is_passed_on_as_well() -> None:
    assert races(learns_twice, 4, SECOND=True) == set()
    assert races(learns_twice, 4, SECOND=False) == {"y"}


def test_each_flag_of_a_tile_hands_on_what_was_released_there() -> None:
    assert races(adds_to_two_flags, 4, TAKEN=0) == set()
    assert races(adds_to_two_flags, 4, TAKEN=1) == {"y"}


def test_a_swap_that_fails_publishes_nothing() -> None:
    assert races(swaps, 2, EXPECTED=0) == set()
    assert races(swaps, 2, EXPECTED=3) == {"y"}


def test_any_lane_of_a_tile_publishes_and_none_publishes_nothing() -> None:
    assert races(tiles, 2, FLAGS=4, SEEN=3) == set()
    assert races(tiles, 2, FLAGS=4, SEEN=2) == {"y"}


def test_a_plain_store_ends_what_was_released() -> None:
    assert races(stores_at_a_flag, 3, PLAIN=False) == set()
    assert races(stores_at_a_flag, 3, PLAIN=True) == {"x", "y"}


def test_the_end_of_a_launch_orders_all() -> None:
    """Program 1 reads what program 0 wrote: within a launch that races, from one launch to the next it does not."""
    text = ttir(one_writes_one_reads, dict.fromkeys(("x", "out"), "*i32") | {"what": "i32"})
    memory = Memory()
    pointers = [
        PointerArgument(memory.add(Allocation(name, np.zeros(64, np.uint8), address, 4)))
        for name, address in (("x", 0x1000), ("out", 0x2000))
    ]

    def findings(what: int) -> list[Finding]:
        return launch(plan_of(text), (2, 1, 1), [*pointers, what], memory, ExecutorOptions(checks="full")).findings

    assert [findings(what) for what in (1, 2)] == [[], []]
    pointers[0].allocation.bytes[:] = 0
    assert [finding.buffer for finding in findings(3)] == ["x"]


def line_of(kernel: Any, text: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(number for number, line in enumerate(lines) if text in line)


def the_finding(outcome: Outcome) -> Finding:
    (finding,) = outcome.result.findings
    return finding


def test_a_finding_names_both_programs_both_lines_and_the_element() -> None:
    finding = the_finding(launched(passes_a_flag, 2, SEM="relaxed", WAIT="acquire", SCOPE="gpu"))
    assert finding.programs == ((0, 0, 0), (1, 0, 0))
    assert finding.where is not None and finding.other is not None
    assert finding.where.line == line_of(passes_a_flag, "tl.load(data)")
    assert finding.other.line == line_of(passes_a_flag, "tl.store(data, 7)")
    assert finding.message == (
        "program (1, 0, 0) reads what program (0, 0, 0) wrote: element 0 of buffer 'y', and nothing orders the two"
    )


@pytest.mark.parametrize(
    ("first", "plain", "text", "racing"),
    [
        (True, "load", "program (1, 0, 0) reads what program (0, 0, 0) updated", "tl.load(x))"),
        (True, "store", "program (1, 0, 0) overwrites what program (0, 0, 0) updated", "tl.store(x, 9)"),
        (False, "load", "program (1, 0, 0) updates what program (0, 0, 0) read", "tl.atomic_add"),
        (False, "store", "program (1, 0, 0) updates what program (0, 0, 0) wrote", "tl.atomic_add"),
    ],
)
def test_a_finding_says_which_of_the_two_was_atomic(first: bool, plain: str, text: str, racing: str) -> None:
    finding = the_finding(launched(atomic_beside_plain, 2, batch=1, PLAIN=plain, FIRST=first, ADDED=1))
    assert finding.message.startswith(text)
    assert finding.where is not None and finding.where.line == line_of(atomic_beside_plain, racing)
