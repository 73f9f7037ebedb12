"""Deliberate faults, one at a time, in the compiled module or in the harness: each must end in its bucket.

`python -m tests.mutation` runs them all and prints docs/mutation.md.
"""
