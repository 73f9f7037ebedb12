"""Architectures: those of the installed wheel are taken, and no others."""

from __future__ import annotations

import pytest

from harness.bisect.architectures import check_architecture, known_architectures
from harness.collection.execution import check_target
from harness.errors import UsageError


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100", "hip:gfx90a", "hip:gfx942", "hip:gfx1100"])
def test_what_the_wheel_compiles_for_is_taken(target: str) -> None:
    check_target(target)


@pytest.mark.parametrize(
    ("target", "backend", "some"),
    [
        ("cuda:999", "cuda", "75, 80, 86"),
        ("cuda:91", "cuda", "89, 90, 100"),
        ("hip:gfx9999", "hip", "gfx90a, "),
        ("hip:gfx94", "hip", "gfx942, gfx950"),
        ("hip:gfx9-generic", "hip", "gfx950, gfx1010"),  # LLVM's, whose name Triton cannot read
        ("hip:gfx803", "hip", "it knows gfx900"),  # LLVM's, older than what Triton compiles for
    ],
)
def test_any_other_is_refused_with_those_there_are(target: str, backend: str, some: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_target(target)
    arch = target.partition(":")[2]
    assert caught.value.what == f"Triton's backend {backend!r} knows no architecture {arch!r}"
    assert some in caught.value.hint


def test_they_come_oldest_first() -> None:
    assert known_architectures("cuda")[0] == "70"
    numbers = [int(one) for one in known_architectures("cuda")]
    assert numbers == sorted(numbers)
    names = known_architectures("hip")
    assert names.index("gfx950") < names.index("gfx1030") < names.index("gfx1200")


def test_a_backend_that_nothing_is_known_of_may_take_any() -> None:
    check_architecture("abacus:beads")
