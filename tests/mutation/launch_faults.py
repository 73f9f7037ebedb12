"""Faults between the case and the launch: what a broken target, driver or wrapper would do."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Any

from harness.targets.target import BoundLaunch, LaunchFunction, LaunchOutcome, evidence_of, three_dimensional

from .fault import Fault, launched, rebound

ADD = "coverage_kernels/elementwise/add.py::add[fp32-1000]"
COPY = "coverage_kernels/layout/transpose.py::strided_copy"
TWO_LAUNCHES = "coverage_kernels/gather_scatter/scatter.py::two_kernels_fill_one_buffer[7]"
ALLOWED_BYTES = 64 << 20


def launch_faults() -> list[Fault]:
    return [*_grids_and_arguments(), *_not_a_simulation(), *_deaths()]


def _grids_and_arguments() -> list[Fault]:
    return [
        Fault(
            "grid-reversed",
            "the grid is taken outermost first, (z, y, x)",
            "wrong-values",
            "coverage_kernels/control_flow/grid_3d.py::grid_3d[2x3x4]",
            rebound(lambda bound: replace(bound, grid=three_dimensional(bound.grid)[::-1])),
        ),
        Fault(
            "last-program-skipped",
            "the grid is one program short",
            "wrong-values",
            ADD,
            rebound(lambda bound: replace(bound, grid=(bound.grid[0] - 1, *bound.grid[1:]))),
        ),
        Fault(
            "contiguous-on-the-way-in",
            "a channels-last input is packed before the launch",
            "wrong-values",
            f"{COPY}[channels_last-contiguous]",
            rebound(lambda bound: _with(bound, x=bound.args["x"].contiguous())),
        ),
        Fault(
            "padding-packed-on-the-way-in",
            "an input with padded heads loses its padding",
            "trap-out-of-bounds",
            f"{COPY}[padded_heads-contiguous]",
            rebound(lambda bound: _with(bound, x=bound.args["x"].contiguous())),
        ),
        Fault(
            "contiguous-on-the-way-out",
            "a channels-last output is computed in a packed copy and copied back by shape",
            "wrong-values",
            f"{COPY}[contiguous-channels_last]",
            launched(_through_packed_output),
        ),
        Fault(
            "storage-offset-lost",
            "a view that starts inside its storage is passed from the storage's start",
            "wrong-values",
            f"{COPY}[contiguous-contiguous]",
            rebound(lambda bound: _with(bound, x=_from_the_start(bound.args["x"]))),
        ),
        Fault(
            "arguments-swapped",
            "two buffers of one type trade places",
            "wrong-values",
            "coverage_kernels/elementwise/integer_division.py::truncated_division[int32]",
            rebound(lambda bound: _with(bound, x=bound.args["y"], y=bound.args["x"])),
        ),
        Fault(
            "scalar-too-small",
            "an extent arrives one less",
            "wrong-values",
            ADD,
            rebound(lambda bound: _with(bound, n=bound.args["n"] - 1)),
        ),
        Fault(
            "scalar-too-large",
            "an extent arrives one more",
            "trap-out-of-bounds",
            ADD,
            rebound(lambda bound: _with(bound, n=bound.args["n"] + 1)),
        ),
        Fault(
            "input-changed-on-the-way-in",
            "an input is overwritten after the reference has read it",
            "input-changed",
            ADD,
            launched(_with_input_changed),
        ),
        Fault(
            "second-launch-forgotten",
            "of two launches that fill one buffer only the first is made",
            "wrong-values",
            TWO_LAUNCHES,
            launched(_only_even_rows),
        ),
        Fault(
            "launched-twice",
            "an accumulating kernel is launched twice, as a warm-up would",
            "wrong-values",
            "coverage_kernels/gather_scatter/scatter.py::index_add[fp32]",
            launched(_twice),
        ),
    ]


def _not_a_simulation() -> list[Fault]:
    return [
        Fault("ran-on-the-host", "torch computes the result", "not-simulated", ADD, launched(_on_the_host)),
        Fault("nothing-launched", "the launch is a no-op", "not-simulated", ADD, launched(_nothing)),
        Fault(
            "half-on-the-host",
            "of two launches one is computed by torch",
            "not-simulated",
            TWO_LAUNCHES,
            launched(_odd_rows_on_the_host),
        ),
        Fault("replayed", "an earlier simulation's result is served", "void", ADD, launched(_replayed)),
    ]


def _deaths() -> list[Fault]:
    return [
        Fault("segfault", "a crash in native code of the simulator", "harness-crash", ADD, launched(_segfault)),
        Fault("os-exit-0", "something calls os._exit(0)", "harness-crash", ADD, launched(_exit_as_if_well)),
        Fault("hang", "the launch never returns", "timeout", ADD, launched(_hang), timeout=1.0),
        Fault(
            "out-of-memory",
            "the launch allocates without end",
            "out-of-memory",
            ADD,
            launched(_allocate_without_end),
            memory=ALLOWED_BYTES,
        ),
    ]


def _with(bound: BoundLaunch, **arguments: Any) -> BoundLaunch:
    return replace(bound, args={**bound.args, **arguments})


def _through_packed_output(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    packed = bound.args["out"].contiguous()
    outcome = launch(_with(bound, out=packed))
    bound.args["out"].copy_(packed)
    return outcome


def _from_the_start(tensor: Any) -> Any:
    """Element 0 where the storage begins, and not three elements after."""
    return tensor.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset() - 3)


def _with_input_changed(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    bound.args["x"][0] = 0
    return launch(bound)


def _is_even_rows(bound: BoundLaunch) -> bool:
    return bound.kernel.__name__ == "even_rows_kernel"


def _only_even_rows(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    return launch(bound) if _is_even_rows(bound) else LaunchOutcome()


def _twice(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    launch(bound)
    return launch(bound)


def _on_the_host(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    bound.args["out"].copy_(bound.args["x"] + bound.args["y"])
    return LaunchOutcome([evidence_of(bound, seconds=0.0)])


def _nothing(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    bound.args["out"].copy_(bound.args["x"] + bound.args["y"])
    return LaunchOutcome()


def _odd_rows_on_the_host(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    if _is_even_rows(bound):
        return launch(bound)
    bound.args["out"][1::2] = bound.args["x"][1::2] * 2
    return LaunchOutcome([evidence_of(bound, seconds=0.0)])


def _replayed(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    outcome = launch(bound)
    outcome.launches = [replace(one, replayed=True) for one in outcome.launches]
    return outcome


def _segfault(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    launch(bound)
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError("survived")


def _exit_as_if_well(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    launch(bound)
    os._exit(0)


def _hang(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    launch(bound)
    while True:
        signal.pause()


def _allocate_without_end(launch: LaunchFunction, bound: BoundLaunch) -> LaunchOutcome:
    launch(bound)
    kept = []
    while True:
        kept.append(bytearray(ALLOWED_BYTES))
