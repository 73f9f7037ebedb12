"""A failure folder reads back as it was saved: layout and bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from harness.errors import UsageError
from harness.reports import BufferArtifact, FailureArtifacts, folder_name


def bits(tensor: torch.Tensor) -> list[int]:
    return tensor.contiguous().view(torch.uint8).flatten().tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.bool])
def test_buffers_keep_dtype_layout_and_bits(tmp_path, dtype):
    padded = torch.arange(40).remainder(7).to(dtype)[3:].as_strided((3, 4), (10, 2), 3)
    FailureArtifacts(buffers=[BufferArtifact("x[0]", input=padded, got=padded)]).save(tmp_path)
    (loaded,) = FailureArtifacts.load(tmp_path).buffers
    assert loaded.got is not None and loaded.want is None
    assert (loaded.got.dtype, loaded.got.shape, loaded.got.stride()) == (dtype, padded.shape, padded.stride())
    assert bits(loaded.got) == bits(padded)


def test_guard_zones_are_not_saved(tmp_path):
    guarded = torch.zeros(1 << 20)[500_000:500_004]
    FailureArtifacts(buffers=[BufferArtifact("x", got=guarded)]).save(tmp_path)
    assert (tmp_path / "buffers" / "x.got.pt").stat().st_size < 10_000


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_scalars_and_empty_buffers(tmp_path, shape):
    FailureArtifacts(buffers=[BufferArtifact("x", want=torch.ones(shape))]).save(tmp_path)
    (loaded,) = FailureArtifacts.load(tmp_path).buffers
    assert loaded.want is not None and torch.equal(loaded.want, torch.ones(shape))


def test_a_large_buffer_is_named_and_left_out(tmp_path):
    FailureArtifacts(buffers=[BufferArtifact("x", got=torch.ones(100))]).save(tmp_path, largest_buffer=399)
    assert (tmp_path / "buffers" / "omitted.txt").read_text() == "x.got.pt: 400 bytes, more than 399\n"
    assert FailureArtifacts.load(tmp_path).buffers == []


def test_what_is_known_later_is_added_to_what_is_there(tmp_path):
    FailureArtifacts(kernel="k", ttir="t", last_ir="t", last_ir_stage="ttir").save(tmp_path)
    FailureArtifacts(last_ir="g", last_ir_stage="ttgir/a", error="e", versions={"triton": "3"}).save(tmp_path)
    loaded = FailureArtifacts.load(tmp_path)
    assert (loaded.kernel, loaded.ttir, loaded.last_ir, loaded.last_ir_stage) == ("k", "t", "g", "ttgir-a")
    assert (loaded.error, loaded.versions) == ("e", {"triton": "3"})


def test_the_rerun_script_works_from_anywhere(tmp_path):
    folder = tmp_path / "it's a report" / "failures" / "one"
    FailureArtifacts(command="pwd; command -v python", root="../../..").save(folder)
    ran = subprocess.run([folder / "rerun.sh"], cwd="/", check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == [str(tmp_path), str(Path(sys.executable).parent / "python")]
    assert FailureArtifacts.load(folder).command == "pwd; command -v python"


def test_folder_names_are_distinct_and_safe_to_type():
    names = {folder_name(f"k/{'x' * 300}.py::k[npu-{i}]") for i in range(50)}
    names |= {folder_name("k[a/b]"), folder_name("k")}
    assert len(names) == 52
    assert all(len(name) < 100 and not set(name) & set("/[]: '*") for name in names)


def test_texts_are_read_without_triton_or_torch(tmp_path):
    FailureArtifacts(kernel="k").save(tmp_path)
    script = """
import sys
from pathlib import Path
from harness.reports import FailureArtifacts
assert FailureArtifacts.load(Path(sys.argv[1])).kernel == "k"
assert not {"triton", "torch"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=Path(__file__).parents[2], check=True)


def test_no_folder_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="there is no failure folder"):
        FailureArtifacts.load(tmp_path / "none")
