"""Every error a user can meet, by type.

A message says what happened, where (file:line of the kernel or the case) and what to do next.
The type decides the bucket (see `harness.verdicts`): text is never parsed to classify these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # harness.cases itself raises these errors
    from harness.cases.location import SourceLocation


class HarnessError(Exception):
    """Base of all errors the harness raises on purpose.

    `what` is one sentence, `where` the line it is about, `hint` what to do next.
    """

    def __init__(self, what: str, where: SourceLocation | None = None, hint: str = "") -> None:
        super().__init__(what, where, hint)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.what}{hint}"


class UsageError(HarnessError):
    """A command line, ini option or allowlist that cannot be used as written."""


class UnsupportedVersion(HarnessError):
    """An installed Python, torch or Triton outside the supported range."""


class EnvironmentFailed(HarnessError):
    """The machine could not run a case: its process did not start or was ended from outside."""


class CaseError(HarnessError):
    """A case file that does not describe a case: bad grid, unknown dtype, misspelt buffer.

    `about` is the argument, option or parameter it is about, where its line is still to be looked up.
    """

    def __init__(self, what: str, where: SourceLocation | None = None, hint: str = "", about: str = "") -> None:
        super().__init__(what, where, hint)
        self.about = about


class ReferenceFailed(HarnessError):
    """The reference is missing, raised, or returned something that is not a golden."""


class FrontendError(HarnessError):
    """Triton's front end refused the kernel (a compilation error in the user's Python)."""


class PassFailed(HarnessError):
    """A pass of the compiler returned failure."""


class VerifierFailed(PassFailed):
    """A pass of the compiler left IR behind that does not verify."""


class UnsupportedFlag(HarnessError):
    """A flag, option or tool of a RUN line that the installed wheel has no way to run; never a pass.

    `of_a_release` is whether it is known to be one of some release's, or of its build's.
    """

    def __init__(
        self, what: str, where: SourceLocation | None = None, hint: str = "", of_a_release: bool = True
    ) -> None:
        super().__init__(what, where, hint)
        self.of_a_release = of_a_release


class CheckFailed(HarnessError):
    """What a RUN line printed, or how it ended, is not what the lit case says."""


class UnexpectedPass(HarnessError):
    """A lit case that its XFAIL line says must fail passes."""


class ParseError(HarnessError):
    """Text that is not the IR it claims to be."""


class UnsupportedOp(HarnessError):
    """An op, type or attribute that the executor has no meaning for; named, never guessed."""


class Refusal(HarnessError):
    """A lowering cannot place this kernel on the machine; not a crash."""


class Trap(HarnessError):
    """The simulator stopped a program.

    `program` is the (x, y, z) program id, or None when the trap is not one program's.
    """

    def __init__(
        self,
        what: str,
        where: SourceLocation | None = None,
        hint: str = "",
        program: tuple[int, int, int] | None = None,
    ) -> None:
        super().__init__(what, where, hint)
        self.program = program

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.where, self.hint, self.program)


class OutOfBounds(Trap):
    """An access outside every buffer the pointer may point into."""


class Misaligned(Trap):
    """An access whose address is not a multiple of its element's size."""


class AssertionTrap(Trap):
    """A `tl.device_assert` that did not hold."""


class Deadlock(Trap):
    """Every program that is left waits for another one, or the watchdog ran out of steps."""


class IllegalAccess(Trap):
    """A pointer loaded from memory that points into no registered buffer."""


class IllegalInstruction(Trap):
    """An instruction that the machine cannot carry out, or whose operands do not fit together."""


class ScratchpadFault(Trap):
    """An access to scratchpad bytes that nobody wrote, or that a transfer may still be using."""


class DamagedProgram(HarnessError):
    """Bytes that are not the machine program they claim to be."""


class LoweringFault(HarnessError):
    """A machine program does something else than the IR it was lowered from."""


class Diverged(HarnessError):
    """A buffer of a model is not what it should be: the model ends there."""


class NotSimulated(HarnessError):
    """Part of the case ran on the host instead of the simulator, so the run proves nothing."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed. On the CPU torch has no type of its own for that, only its allocator's name."""
    if isinstance(error, MemoryError):
        return True
    by_name = type(error).__name__ == "OutOfMemoryError" or "DefaultCPUAllocator" in str(error)
    return isinstance(error, RuntimeError) and by_name
