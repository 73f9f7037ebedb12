"""A machine description: presets, files on top of them, and every way to get one wrong."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.npu.machine import load_machine, machine_from_toml, presets


def test_the_presets_are_what_their_names_say():
    assert presets() == ("default", "tiny", "wide")
    sizes = {
        name: (machine.lanes, machine.matrix.rows, machine.matrix.columns, machine.scratchpad_bytes)
        for name in presets()
        for machine in [load_machine(name)]
    }
    assert sizes == {
        "default": (128, 128, 128, 65536),
        "tiny": (8, 8, 8, 4096),
        "wide": (256, 256, 256, 65536),
    }
    assert all(load_machine(name).name == name for name in presets())


def test_the_default_has_the_peak_of_a_tpu_v3_core_array_and_its_bandwidth():
    machine = load_machine("default")
    multiplications = machine.matrix.rows * machine.matrix.columns * machine.clock_mhz * 1e6
    assert 2 * multiplications == pytest.approx(123e12 / 4, rel=0.01)  # two cores of two arrays each are 123 TFLOP/s
    assert machine.dram_bytes_per_cycle * machine.clock_mhz * 1e6 == pytest.approx(900e9)


def test_a_file_on_a_base_gives_only_what_differs(tmp_path: Path):
    (tmp_path / "mine.toml").write_text('base = "tiny"\nname = "mine"\n[matrix.passes]\nbf16 = 2\n')
    (tmp_path / "more.toml").write_text('base = "mine.toml"\nname = "more"\ncores = 4\n')
    mine, more = load_machine(tmp_path / "mine.toml"), load_machine(str(tmp_path / "more.toml"))
    tiny = load_machine("tiny")
    assert (mine.lanes, mine.matrix.rows) == (tiny.lanes, tiny.matrix.rows)
    assert mine.matrix.passes == (("bf16", 2),)  # replaced as a whole, so that a type can be taken away
    assert (mine.matrix.passes_of("bf16"), mine.matrix.passes_of("f16")) == (2, None)
    assert dataclasses.replace(more, name="mine", cores=mine.cores) == mine


def test_the_fingerprint_follows_the_content_and_nothing_else(tmp_path: Path):
    machine = load_machine("default")
    (tmp_path / "same.toml").write_text('base = "default"  # and no more\n')
    assert load_machine(tmp_path / "same.toml").fingerprint() == machine.fingerprint()
    assert pickle.loads(pickle.dumps(machine)).fingerprint() == machine.fingerprint()
    slower = dataclasses.replace(machine, dram=dataclasses.replace(machine.dram, latency_ns=201))
    assert slower.fingerprint() != machine.fingerprint()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('base = "default"\nlane = 3\n', 2, "unknown key 'lane' (did you mean 'lanes'?)"),
        ('base = "default"\n\n[vector]\nregister_bit = 3\n', 4, "did you mean 'register_bits'?"),
        ('base = "default"\nlanes = 100\n', 2, "lanes must be a power of two, not 100"),
        ('base = "default"\nlanes = 8192\n', 2, "lanes must be from 1 to 4096, not 8192"),
        ('base = "default"\nlanes = "8"\n', 2, 'lanes must be a whole number, not text in quotes ("8")'),
        ('base = "default"\ncores = true\n', 2, "cores must be a whole number, not a truth value (true)"),
        ('base = "default"\nclock_mhz = 0\n', 2, "clock_mhz must be above 0"),
        ('base = "default"\nclock_mhz = nan\n', 2, "clock_mhz must be above 0"),
        ('base = "default"\nname = ""\n', 2, "name must be a name of letters"),
        ('base = "default"\nvector = 3\n', 2, "vector must be a section, not a whole number"),
        ('base = "default"\n[dma]\nlatency = 1.5\n', 3, "dma.latency must be a whole number, not a number"),
        ('base = "default"\n[dma]\ndimensions = 5\n', 3, "dma.dimensions must be from 1 to 4, not 5"),
        ('base = "default"\n[exchange]\nkind = "ful"\n', 3, "did you mean 'full'?"),
        ('base = "default"\n[special]\nfunctions = ["exp", "exp"]\n', 3, "special.functions names one twice"),
        ('base = "default"\n[special]\nfunctions = ["exp", "sqr"]\n', 3, "did you mean 'sqrt'?"),
        ('base = "default"\n[matrix.passes]\nf16 = 1\nbf61 = 1\n', 4, "did you mean 'bf16'?"),
        ('base = "default"\n[matrix.passes]\nf16 = 0\n', 3, "matrix.passes has f16 = 0"),
        ('base = "defualt"\n', 1, "no machine 'defualt' (did you mean 'default'?)"),
        ('base = "default"\n\n[[dma]]\nengines = 1\n', 3, "dma must be a section, not a list of sections ([[...]])"),
        ('base = "default"\n[[ "foo" ]]\na = 1\n', 2, "unknown key 'foo'"),
        ('base = "default"\n\n[[matrix.passes]]\nf32 = 1\n', 3, "passes must be a table with an entry at least"),
        ('base = "default"\n[dma.more]\na = 1\n', 2, "unknown key 'dma.more'"),
        ('base = "default"\n\nmatrix = {rows = 4.0}\n', 3, "whole number, not a number with decimals (4.0)"),
        ('base = "default"\n\nmatrix.rows = "4"\n', 3, 'matrix.rows must be a whole number, not text in quotes ("4")'),
        ('base = "default"\n[dma]\nengines = 1979-05-27\n', 3, "not a date or time (1979-05-27)"),
        ("base = 3\n", 1, "base must be the name of a machine, not a whole number"),
        ('name = "empty"\n', 1, "cores, clock_mhz, lanes"),
        ('name = "x"\nlanes = \n', 2, "not TOML"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, line: int, says: str):
    with pytest.raises(UsageError) as error:
        machine_from_toml(text, "mine.toml")
    assert says in str(error.value)
    assert str(error.value.where) == f"mine.toml:{line}"


def test_a_mistake_in_a_base_is_told_at_the_base(tmp_path: Path):
    (tmp_path / "below.toml").write_text('base = "default"\nlanes = 3\n')
    (tmp_path / "above.toml").write_text('base = "below.toml"\nlanes = 8\n')
    with pytest.raises(UsageError, match=r"below\.toml:2: lanes must be a power of two"):
        load_machine(tmp_path / "above.toml")


def test_a_file_cannot_be_its_own_base(tmp_path: Path):
    (tmp_path / "a.toml").write_text('base = "b.toml"\n')
    (tmp_path / "b.toml").write_text('base = "a.toml"\n')
    with pytest.raises(UsageError, match="is its own base"):
        load_machine(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wyde", "did you mean 'wide'?"),
        ("none.toml", "cannot read the machine none.toml"),
        (".", "no machine"),
        ("a\0.toml", "null byte"),
    ],
)
def test_a_machine_that_is_not_there_is_named(name: str, says: str):
    with pytest.raises(UsageError) as error:
        load_machine(name)
    assert says in str(error.value)
