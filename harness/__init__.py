"""A kernel coverage and regression test harness for Triton compilers that needs no accelerator."""

__version__ = "0.1.0"
