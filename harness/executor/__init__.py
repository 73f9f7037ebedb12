"""Runs a module of Triton IR over a grid, its programs batched.

`compile_module` makes a plan of a module once; `launch` runs it. Importing this package registers the steps
of every op.
"""

from harness.executor import (
    ops_amd,
    ops_control,
    ops_inline_asm,
    ops_local,
    ops_memory,
    ops_npu,
    ops_nvidia,
    ops_partitions,
    ops_products,
    ops_reduce,
    ops_scalar,
    ops_tensor,
    ops_tensor_memory,
)
from harness.executor.api import Argument, DescriptorArgument, ExecutorOptions, LaunchResult, PointerArgument
from harness.executor.launch import launch
from harness.executor.memory import Allocation, Memory
from harness.executor.plan import OPS, Plan, compile_module

ops_scalar.register_elementwise()

__all__ = [
    "OPS",
    "Allocation",
    "Argument",
    "DescriptorArgument",
    "ExecutorOptions",
    "LaunchResult",
    "Memory",
    "Plan",
    "PointerArgument",
    "compile_module",
    "launch",
    "ops_amd",
    "ops_control",
    "ops_inline_asm",
    "ops_local",
    "ops_memory",
    "ops_npu",
    "ops_nvidia",
    "ops_partitions",
    "ops_products",
    "ops_reduce",
    "ops_tensor",
    "ops_tensor_memory",
]
