"""The clock of a run: how long each of its stages took."""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness.cases.evidence import Evidence


@dataclass
class StageClock:
    """Keeps `stage` and `seconds` of the evidence as the run goes on."""

    evidence: Evidence
    _began: float = 0.0

    def begin(self, stage: str) -> None:
        self.stop()
        self.evidence.stage = stage

    def stop(self) -> None:
        """Adds the seconds since the last call to the stage that is ending."""
        now = time.perf_counter()
        if self._began:
            seconds = self.evidence.seconds
            seconds[self.evidence.stage] = seconds.get(self.evidence.stage, 0.0) + now - self._began
        self._began = now
