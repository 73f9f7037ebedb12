"""Values that are passed on all at once, in an order that loses none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lowering_kit import EXAMPLES

from harness.npu.lowering.edges import Move, in_sequence

PLACES = 6


@EXAMPLES
@given(
    targets=st.permutations(range(PLACES)),
    sources=st.lists(st.sampled_from((*range(PLACES), None)), max_size=PLACES),
    changed=st.sets(st.integers(0, PLACES)),
)
def test_every_target_gets_the_old_value(targets: list[int], sources: list[int | None], changed: set[int]) -> None:
    moves = [
        Move(target, source, index not in changed)
        for index, (target, source) in enumerate(zip(targets, sources, strict=False))
    ]
    places: dict[object, str] = {number: f"old {number}" for number in range(PLACES)}
    places[None] = "constant"
    before = dict(places)
    order, saved = in_sequence(moves)
    aside = {index: places[moves[index].source] for index in saved}
    for index in order:
        places[moves[index].target] = aside.get(index, places[moves[index].source])
    for move in moves:
        assert places[move.target] == before[move.source]


def test_only_a_cycle_needs_room() -> None:
    shifted = [Move("a", "b"), Move("b", "c"), Move("c", None)]
    assert in_sequence(shifted) == ([0, 1, 2], [])
    swapped = [Move("a", "b"), Move("b", "a")]
    assert len(in_sequence(swapped)[1]) == 1
    assert in_sequence([Move("a", "a", same=False)]) == ([0], [0])
    assert in_sequence([Move("a", "a")]) == ([], [])
