"""Side-by-side measurements: the `npu` target, Triton's interpreter and eager torch. See docs/performance.md."""
