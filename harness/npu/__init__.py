"""The simulated NPU: a Triton backend whose compiled program runs on the executor."""
