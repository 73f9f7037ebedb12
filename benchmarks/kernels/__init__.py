"""The kernels that are measured, each at a size people use, with its torch counterpart."""
