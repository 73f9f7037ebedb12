"""`harness model`: what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main


def test_cycles_are_told_for_each_kernel_and_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    (tmp_path / "models").mkdir()
    source = Path(__file__).parents[2] / "models" / "mlp.py"
    (tmp_path / "models" / "mlp.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["model", "mlp[fp32-tiny]", "--timing"]) == 0
    lines = capsys.readouterr().out.splitlines()
    total = next(line for line in lines if line.startswith("4 launches on default: "))
    rows = [line for line in lines if line.endswith(("addmm_t_0", "layer_norm_1", "relu_t_2", "relu_t_3"))][-4:]
    assert sum(int(row.split()[0]) for row in rows) == int(total.split()[4]) > 0
