"""MLIR regressions as LLVM's test runner writes them: RUN lines, the wheel's passes, FileCheck."""
