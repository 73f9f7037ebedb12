"""docs/npu-internals.md shows what the passes, the disassembler and the clock really print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.cases.loading import load_templates
from harness.ir import parse_module, print_module
from harness.npu.isa.disassembly import disassemble
from harness.npu.lowering import PIPELINE, run_passes
from harness.npu.machine import load_machine
from harness.npu.timing import Timing, timing_table
from harness.targets.machine_run import Wanted, run_on_machine

ROOT = Path(__file__).parents[2]
EXCERPT = re.compile(r"^```(npu-[\w-]+|disasm|time)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By the word after the fence, the whole text that an excerpt is from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        instance = _softmax()
        (record,) = run_on_machine(instance, "default", Wanted(timing=True))
    assert record.program is not None and isinstance(record.timing, Timing)
    texts = {"disasm": disassemble(record.program), "time": "\n".join(timing_table([record.timing]))}
    module = parse_module(record.text, record.kernel)

    def keep(flag: str, after) -> None:
        texts[flag] = print_module(after)

    run_passes(module, load_machine("default"), PIPELINE, keep)
    return texts


def _softmax():
    templates = load_templates(ROOT / "coverage_kernels" / "reduce" / "softmax.py")
    instances = [each for one in templates if one.name == "softmax" for each in one.instances()]
    return next(one for one in instances if one.parameter_id == "fp32-62x1000")


def test_excerpts_are_of_what_is_printed(printed: dict[str, str]):
    excerpts = EXCERPT.findall((ROOT / "docs" / "npu-internals.md").read_text())
    assert len(excerpts) >= 7
    for name, excerpt in excerpts:
        left = iter(_line(line) for line in printed[name].splitlines())
        for line in filter(None, map(_line, excerpt.splitlines())):
            assert any(line in given for given in left), f"{name} does not print {line!r}, or not there"


def _line(text: str) -> str:
    return " ".join(re.sub(r" loc\(.*?\)+$", "", text).split())
