"""A case that describes no run is one sentence at the line it is about, and nothing but that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.cases.evidence import Failure, Verdict
from harness.cases.loading import load_templates
from harness.cases.location import SourceLocation
from harness.cases.options import RunOptions
from harness.errors import CaseError
from harness.targets import run_case
from harness.verdicts import classify

CASE = """
import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, KernelCase, Launch, Pointers, Values, case, empty


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr, scale=1.0):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * scale, at < n)


tuned = triton.autotune([triton.Config({"BLOCK": 16})], key=[])(copy_kernel)
guided = triton.heuristics({"BLOCK": lambda args: 16})(copy_kernel)


@case()
def copy():
    size = 16
    return KernelCase(
        copy_kernel,
        grid=(1,),
        args=dict(
            x=Buffer(size),
            out=empty(size),
            n=size,
            BLOCK=16,
        ),
        options=dict(
            num_warps=4,
        ),
        reference=lambda x: {"out": x},
    )
"""


def run(folder: Path, old: str, new: str) -> tuple[Verdict, Failure | None, int]:
    """The case with `old` replaced by `new`; its failure, and the line on which `new` begins."""
    text = CASE.replace(old, new)
    assert (text != CASE or old == new) and CASE.count(old) == 1
    path = folder / "cases.py"
    path.write_text(text, encoding="ascii")
    ((template,),) = [load_templates(path)]
    (instance,) = template.instances()
    evidence = run_case(instance, "cases.py::copy[npu]", "npu", RunOptions(), lambda stage: None)
    return classify(evidence), evidence.failure, 1 + text[: CASE.index(old)].count("\n")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("num_warps=4", "num_warpz=4", "no launch option 'num_warpz' .did you mean 'num_warps'"),
        ("num_warps=4", "num_warps=3", "num_warps must be a power of 2, not 3"),
        ("num_warps=4", "num_warps=0", "num_warps must be a power of 2, not 0"),
        ("num_warps=4", "num_warps=2.5", "num_warps=2.5 is no integer"),
        ("num_warps=4", "num_stages='3'", "num_stages='3' is no integer"),
        ("num_warps=4", "scale=4.0", "'scale' is a parameter of the kernel, not a launch option"),
        ("n=size", "n='16'", "n='16' is a str, which Triton cannot take"),
        ("n=size", "n=torch.float32", "n=torch.float32 is a dtype, which Triton cannot take"),
        ("n=size", "n=2**70", "does not fit into 64 bits"),
        (
            "x=Buffer(size)",
            "x=torch.zeros(16)",
            "argument 'x' is a torch tensor .write Buffer.shape, dtype., with fill=",
        ),
        ("x=Buffer(size)", "x=[torch.zeros(16)]", "argument 'x' is a torch tensor"),
        ("BLOCK=16,", "BLOCK={16},", "a constexpr must be hashable"),
        ("n=size", "n=size, m=size", "no parameter 'm'"),
        ("n=size", "size=size", "no parameter 'size'"),
        ("x=Buffer(size)", "x=Buffer(size, torch.float32)", "torch.float32 is no dtype's name .write 'fp32'"),
        ("x=Buffer(size)", "x=Buffer(size, 'fp33')", "dtype 'fp33' is not supported"),
        ("x=Buffer(size)", "x=Buffer(size, fill=3)", "fill=3 is no fill .such as Constant.3."),
        ("x=Buffer(size)", "x=Buffer(size, strides=(1.0,))", "strides holds 1.0, which is no integer of zero or more"),
        ("x=Buffer(size)", "x=Buffer((True,))", "shape holds True, which is no integer"),
        ("x=Buffer(size)", "x=Buffer('16')", "shape holds '16'"),
        ("x=Buffer(size)", "x=Buffer(size, offset=(1, 2))", "offset holds .1, 2."),
        ("x=Buffer(size)", "x=Buffer(size, alignment=None)", "alignment holds None"),
        ("x=Buffer(size)", "x=Buffer(size, fill=Values(('a',)))", "buffer 'x' cannot be filled"),
        ("x=Buffer(size)", "x=Buffer(1, 'int64', fill=Pointers(('y',)))", "'x' names 'y', which is no buffer"),
        ("reference=lambda", "then=[3], reference=lambda", "then= holds 3, which is no Launch"),
        ("reference=lambda", "tolerance=3, reference=lambda", "tolerance=3 must be a Tolerance"),
        ('reference=lambda x: {"out": x},', "reference=3,", "reference=3 must be a function"),
        ("reference=lambda", "reduction=0, reference=lambda", "reduction 0 must be an integer of one or more"),
        ("size = 16", "size = 1 / 0", "building the case raised ZeroDivisionError"),
        ("grid=(1,)", "grid=[1]", "must be a tuple of 1 to 3 integers"),
        (
            "grid=(1,)",
            "grid=lambda meta: (1,)",
            "grid must be a tuple of 1 to 3 integers, not a function .nothing calls it: ",
        ),
        ("grid=(1,)", "grid=(True,)", "must be integers of zero or more"),
        ("grid=(1,)", "grid=(2**31,)", "more than 2..31 - 1 programs along an axis"),
        ("grid=(1,)", "grid=(65535, 65535, 64)", "is 274869518400 programs, more than"),
    ],
)
def test_it_is_a_collect_error_at_the_line(tmp_path: Path, old: str, new: str, what: str) -> None:
    verdict, failure, line = run(tmp_path, old, new)
    assert verdict.bucket == "collect"
    assert failure is not None and failure.where is not None
    assert (Path(failure.where.file).name, failure.where.line) == ("cases.py", line)
    assert verdict.summary.startswith(f"{tmp_path}/cases.py:")
    assert re.search(what, verdict.summary)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("n=size,", "", "the kernel's parameter 'n' is given no value (add it to args: it has x, out, n, BLOCK"),
        ("size = 16", "return 16", "copy must return a KernelCase, not an object of type int"),
        ("size = 16", "return", "copy must return a KernelCase, not None"),
        ("        copy_kernel,", "        copy_kernel.fn,", "'copy_kernel' is not a @triton.jit function"),
    ],
)
def test_what_has_no_line_of_its_own_is_said_at_the_case(tmp_path: Path, old: str, new: str, what: str) -> None:
    verdict, failure, _ = run(tmp_path, old, new)
    assert verdict.bucket == "collect" and what in verdict.summary
    assert failure is not None and failure.where is not None
    assert failure.where.line == 1 + CASE[: CASE.index("@case()")].count("\n")


def test_what_autotune_chooses_is_no_argument_of_the_launch(tmp_path: Path) -> None:
    verdict, failure, _ = run(tmp_path, "        copy_kernel,\n", "        tuned,\n")
    assert verdict.bucket == "collect" and "'BLOCK' is chosen by the kernel's autotune decorator" in verdict.summary
    assert failure is not None and failure.where is not None
    assert failure.where.line == 1 + CASE[: CASE.index("BLOCK=16")].count("\n")


def test_a_configuration_of_autotune_is_held_to_the_same(tmp_path: Path) -> None:
    text = CASE.replace("            BLOCK=16,\n", "").replace("num_warps=4,\n", "")
    text = text.replace("        copy_kernel,\n", "        tuned,\n").replace(
        '"BLOCK": 16})]', '"BLOCK": 16}, num_warps=6)]'
    )
    path = tmp_path / "cases.py"
    path.write_text(text, encoding="ascii")
    (template,) = load_templates(path)
    (instance,) = template.instances()
    verdict = classify(run_case(instance, "cases.py::copy[npu]", "npu", RunOptions(), lambda stage: None))
    assert verdict.bucket == "collect" and "num_warps must be a power of 2, not 6" in verdict.summary
    assert verdict.summary.startswith(f"{path}:")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("num_warps=4", "num_warps=None"),
        ("num_warps=4", "num_warps=4, num_stages=2"),
        ("        copy_kernel,\n", "        tuned,\n"),
        ("        copy_kernel,\n", "        guided,\n"),
        ("grid=(1,)", "grid=(70000, 1, 1)"),
    ],
)
def test_what_a_launch_can_have_is_let_through(tmp_path: Path, old: str, new: str) -> None:
    text = CASE.replace("            BLOCK=16,\n", "").replace("num_warps=4,\n", "") if "kernel" in old else CASE
    path = tmp_path / "cases.py"
    path.write_text(text.replace(old, new), encoding="ascii")
    (template,) = load_templates(path)
    (instance,) = template.instances()
    evidence = run_case(instance, "cases.py::copy[npu]", "npu", RunOptions(), lambda stage: None)
    assert classify(evidence).outcome == "pass", evidence.failure


def test_a_case_without_parentheses_is_told_and_not_lost(tmp_path: Path) -> None:
    """`@case` alone calls it with the function for its marks."""
    file = tmp_path / "bare.py"
    file.write_text(CASE.replace("@case()\n", "@case(n=[1])\ndef other(n): ...\n\n\n@case\n"))
    line = file.read_text().splitlines().index("@case") + 1
    with pytest.raises(CaseError, match=r"case copy is declared by @case without parentheses.*@case\(\)") as told:
        load_templates(file)
    assert told.value.where == SourceLocation(str(file), line)
