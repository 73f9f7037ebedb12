"""Whole torch models, compiled by Inductor to Triton for the simulated NPU, verified buffer by buffer.

`harness.models.compile(module)` gives a callable; a model case (`harness.cases.ModelCase`) gives a verdict.
"""

from harness.models.compile import CompiledModel, compile

__all__ = ["CompiledModel", "compile"]
