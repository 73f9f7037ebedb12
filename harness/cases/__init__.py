"""What is run: everything a case file needs is importable from here."""

from harness.cases.buffer import Buffer, empty
from harness.cases.descriptor import Descriptor
from harness.cases.fills import (
    Arange,
    Constant,
    Integers,
    Normal,
    Permutation,
    Pointers,
    Poison,
    Special,
    Uniform,
    Values,
)
from harness.cases.kernel_case import CaseInstance, CaseTemplate, KernelCase, Launch, Tolerance, case
from harness.cases.lit_case import LitCase
from harness.cases.model_case import ModelCase

__all__ = [
    "Arange",
    "Buffer",
    "CaseInstance",
    "CaseTemplate",
    "Constant",
    "Descriptor",
    "Integers",
    "KernelCase",
    "Launch",
    "LitCase",
    "ModelCase",
    "Normal",
    "Permutation",
    "Pointers",
    "Poison",
    "Special",
    "Tolerance",
    "Uniform",
    "Values",
    "case",
    "empty",
]
