"""The case of the rematerialization cache can fail: each wrong module below is what such a cache could make."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.lit import executed

CASE = Path(__file__).parents[2] / "lit_tests/remove_layout_conversions/value_made_again_for_two_uses.mlir"
SPLAT = "    %column = tt.splat %row : i32 -> tensor<32x1xi32, #loaded>\n"
FOR_ADDRESS = "%for_address = tt.broadcast %column"

# The address is of (row / 192) * 128 where the source has row: what belongs to another use of the same layout.
ANOTHER_VALUE = f"""    %of_192 = arith.constant 192 : i32
    %of_128 = arith.constant 128 : i32
    %block = arith.divsi %row, %of_192 : i32
    %other_row = arith.muli %block, %of_128 : i32
    %other = tt.splat %other_row : i32 -> tensor<32x1xi32, #loaded>
{SPLAT}"""

MUTATIONS = {
    "the address is made of another value": [
        (SPLAT, ANOTHER_VALUE),
        (FOR_ADDRESS, "%for_address = tt.broadcast %other"),
    ],
    "the mask is made of another value": [
        (SPLAT, ANOTHER_VALUE),
        ("%for_mask = tt.broadcast %column", "%for_mask = tt.broadcast %other"),
    ],
    "the address is the loop's variable": [
        (f"      {FOR_ADDRESS}", f"      %now = tt.splat %i : i32 -> tensor<32x1xi32, #loaded>\n      {FOR_ADDRESS}"),
        (FOR_ADDRESS, "%for_address = tt.broadcast %now"),
    ],
    "one broadcast serves both": [("%tables, %for_address_moved", "%tables, %for_mask_moved")],
    "the address is not used": [
        ("tt.load %address_moved", "tt.load %tables_moved"),
        (
            "      %x = ",
            "      %tables_moved = ttg.convert_layout %tables : tensor<32x2x!tt.ptr<f32>, #wanted>"
            " -> tensor<32x2x!tt.ptr<f32>, #loaded>\n      %x = ",
        ),
    ],
}


def test_the_case_itself_passes(judge):
    assert judge(CASE.read_text()).outcome == "pass"


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_wrong_module_fails_the_check(judge, mutation):
    text = CASE.read_text()
    for right, wrong in MUTATIONS[mutation]:
        assert right in text
        text = text.replace(right, wrong, 1)
    verdict = judge(text)
    assert (verdict.outcome, verdict.bucket) == ("fail", "filecheck"), verdict.summary


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_wrong_module_computes_something_else(mutation, tmp_path, capfd):
    """What the check by execution sees of it; one broadcast for two uses is another module that computes the same."""
    right = CASE.read_text()
    wrong = right
    for before, after in MUTATIONS[mutation]:
        wrong = wrong.replace(before, after, 1)
    path = tmp_path / "wrong.mlir"
    path.write_text(wrong)
    arguments = re.findall(r"--arguments=\S+", right)
    assert len(arguments) == 3
    is_same = mutation == "one broadcast serves both"
    assert executed.main([str(CASE), str(path), *arguments]) == (0 if is_same else executed.DIFFERS)
    assert ("returned value 0: " in capfd.readouterr().err) is not is_same


def test_a_conversion_that_is_left_over_fails_the_check(judge, monkeypatch):
    """As of a pass that gives up on one of the two uses."""
    text = CASE.read_text().replace("-tritongpu-remove-layout-conversions", "-canonicalize")
    assert judge(text).bucket == "filecheck"
