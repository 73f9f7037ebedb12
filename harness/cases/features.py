"""What a case may need that some supported release of Triton does not have."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata

from packaging.specifiers import SpecifierSet

from harness.errors import CaseError

# By the name a case's `needs=` gives it: the releases that have it. Only what is in this table can excuse a
# listed case from running, so a line is added here when a release is found to lack something, never in a case.
FEATURES: dict[str, SpecifierSet] = {
    "tl.make_block_ptr": SpecifierSet("<3.9"),  # 3.9 refuses it: tensor descriptors take its place
}


def check_features(needs: Sequence[str]) -> None:
    """Raises CaseError for a name that is not in the table."""
    unknown = [name for name in needs if name not in FEATURES]
    if unknown:
        what = f"no feature is called {unknown[0]!r}"
        raise CaseError(what, hint=f"one of: {', '.join(FEATURES)}; harness/cases/features.py", about="needs")


def lacking(needs: Sequence[str], release: str | None = None) -> str:
    """Why cases with these needs cannot run on a release of Triton, by default the installed one; "" if they can."""
    release = release or metadata.version("triton")
    missing = [name for name in needs if not FEATURES[name].contains(release, prereleases=True)]
    return f"Triton {release} has no {', '.join(missing)}" if missing else ""
