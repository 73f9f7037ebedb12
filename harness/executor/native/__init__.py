"""Straight-line runs of ops as machine code: one loop over the programs in place of one pass over memory an op.

NumPy stays the meaning of every op (`harness.semantics`); what is here computes the same, several ops at a time,
for launches large enough to pay for compiling. Where native code meets anything out of the ordinary (an access out
of bounds, an index that wraps) it stops before that program, and the NumPy steps go on from there and raise what
has to be raised.

* `groups` picks the runs, `schedule` lays each out as loop nests, `emitter` writes them as LLVM IR with explicit
  vectors (`lanes`, `arithmetic`, `access`), `engine` compiles, `step` is what a plan runs.
"""
