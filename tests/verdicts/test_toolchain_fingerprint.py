"""A run whose toolchain is relinked underneath is void; one that is left alone is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.verdicts import Fingerprint, Part, changed, differs_across_machines, fingerprint_of_path, take_fingerprint


def of(path: Path) -> Fingerprint:
    return Fingerprint({"compiler": fingerprint_of_path(path)})


def test_the_parts_a_verdict_depends_on_are_all_there_and_stable():
    extra = {"compiler": Path(__file__)}
    one, other = take_fingerprint(extra), take_fingerprint(extra)
    assert {"compiler", "harness", "triton", "torch", "numpy", "python", "machine"} <= set(one.parts)
    assert all(part.content for part in one.parts.values())
    assert changed(one, other) == []


def test_an_edit_that_keeps_size_and_time_is_seen_in_a_small_file(tmp_path):
    source = tmp_path / "pass.py"
    source.write_text("a = 1")
    before, status = of(tmp_path), source.stat()
    source.write_text("a = 2")
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert changed(before, of(tmp_path)) == ["compiler changed"]


def test_touching_a_small_file_changes_nothing(tmp_path):
    source = tmp_path / "pass.py"
    source.write_text("a = 1")
    before = of(tmp_path)
    os.utime(source, ns=(1, 1))
    assert changed(before, of(tmp_path)) == []


def test_a_library_relinked_to_the_same_size_is_seen(tmp_path):
    library = tmp_path / "libtriton.so"
    library.write_bytes(bytes(3 << 20))
    before = of(tmp_path)
    relinked = tmp_path / "new"
    relinked.write_bytes(bytes(1 << 20) + b"\1" * (1 << 20) + bytes(1 << 20))
    relinked.replace(library)
    assert changed(before, of(tmp_path)) == ["compiler changed"]


@pytest.mark.parametrize("change", ["removed", "added"])
def test_a_file_that_comes_or_goes_is_seen(tmp_path, change):
    extra = tmp_path / "b.py"
    (tmp_path / "a.py").write_text("")
    extra.write_text("")
    if change == "added":
        extra.unlink()
    before = of(tmp_path)
    extra.write_text("") if change == "added" else extra.unlink()
    assert changed(before, of(tmp_path)) == ["compiler changed"]


def test_a_compiler_that_is_gone_is_a_state_and_not_an_error(tmp_path):
    before = of(tmp_path / "absent")
    assert changed(before, of(tmp_path / "absent")) == []


def test_versions_are_named_when_they_differ():
    before = Fingerprint({"triton": Part("3.7.1", "a")})
    assert changed(before, Fingerprint({"triton": Part("3.8.0", "b")})) == ["triton changed from 3.7.1 to 3.8.0"]
    assert changed(before, Fingerprint({})) == ["triton changed from 3.7.1 to missing"]


def test_two_machines_with_one_toolchain_agree():
    one = Fingerprint({"triton": Part("3.7.1", "a", "inode 1"), "machine": Part("x", "x")})
    other = Fingerprint({"triton": Part("3.7.1", "a", "inode 2"), "machine": Part("y", "y")})
    assert differs_across_machines(one, other) == []
    assert changed(one, other) == ["triton changed", "machine changed from x to y"]
