"""The machine's instruction set: programs, their binary form and their disassembly."""
