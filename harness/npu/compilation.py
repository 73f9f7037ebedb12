"""From a module of TTIR to the machine's program: the stage that Triton calls last."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from harness.npu.session import Session

if TYPE_CHECKING:
    from harness.npu.machine import Machine


def compile_program(text: str, name: str, machine: Machine, session: Session) -> bytes:
    """The encoded program of the kernel `name` of a module. The session hears of every pass as a stage.

    Raises Refusal for what the machine cannot do, UnsupportedOp for an op without a lowering.
    """
    from harness.ir import parse_module
    from harness.npu.isa.encoding import encode
    from harness.npu.lowering import PASSES, PIPELINE
    from harness.npu.lowering.encode import encode as make_program

    def enter(stage: str) -> None:
        session.enter_stage(stage)
        if session.keep_ir is not None:
            session.keep_ir(stage, functools.partial(_module_before, stage, text, name, machine))

    module = parse_module(text, name)
    for flag in PIPELINE:
        enter(flag)
        PASSES[flag](module, machine)
    enter("npu-encode")
    return encode(make_program(module, machine, name, text))


def _module_before(stage: str, text: str, name: str, machine: Machine) -> str:
    """The module that a pass is given, made again: printing it for every case costs more than the passes do."""
    from harness.ir import parse_module, print_module
    from harness.npu.lowering import PASSES, PIPELINE

    module = parse_module(text, name)
    for flag in PIPELINE:
        if flag == stage:
            break
        PASSES[flag](module, machine)
    return print_module(module)
