"""What each op computes, on NumPy arrays: written once, used by the executor and the simulator.

Importing this package registers every elementwise op.
"""

from harness.semantics import arith, libdevice, math, tensor
from harness.semantics.registry import ELEMENTWISE, elementwise_function
from harness.semantics.types import Signature, numpy_dtype

__all__ = ["ELEMENTWISE", "Signature", "arith", "elementwise_function", "libdevice", "math", "numpy_dtype", "tensor"]
