"""A process of its own for every case.

runner = IsolatedRunner(environment={})
evidence = runner.run(CaseRequest(...), timeout=60)   # whatever the case does, there is Evidence of it
runner.close()
"""

from harness.isolation.messages import RUNNER, CaseRequest
from harness.isolation.process import PRELOAD
from harness.isolation.runner import IsolatedRunner

__all__ = ["PRELOAD", "RUNNER", "CaseRequest", "IsolatedRunner"]
