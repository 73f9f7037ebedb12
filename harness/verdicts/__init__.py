"""From evidence to verdict, and whether the ground the run stood on moved.

verdict = classify(evidence)                       # total; never a pass by default
before = take_fingerprint(); ...; reasons = changed(before, take_fingerprint())
verdict = voided(verdict, reasons)                 # when `reasons` is not empty
bucket_named(verdict.bucket).owner                 # who should look
"""

from harness.verdicts.buckets import BUCKET_NAMES, BUCKETS, Bucket, bucket_named
from harness.verdicts.classify import ABSENT, classify, is_absent, is_simulated, owes_simulation, voided
from harness.verdicts.fingerprint import (
    Fingerprint,
    Part,
    changed,
    differs_across_machines,
    fingerprint_of_path,
    take_fingerprint,
)
from harness.verdicts.patterns import Pattern, PatternTable, standard_patterns

__all__ = [
    "ABSENT",
    "BUCKETS",
    "BUCKET_NAMES",
    "Bucket",
    "Fingerprint",
    "Part",
    "Pattern",
    "PatternTable",
    "bucket_named",
    "changed",
    "classify",
    "differs_across_machines",
    "fingerprint_of_path",
    "is_absent",
    "is_simulated",
    "owes_simulation",
    "standard_patterns",
    "take_fingerprint",
    "voided",
]
