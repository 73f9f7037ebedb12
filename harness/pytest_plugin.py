"""The pytest plugin: kernel cases, lit cases and whole models as tests, run on a target, filed in buckets.

It changes nothing for a repository that has no folder of cases (ini options `kernel_paths`, `lit_paths` and
`model_paths`).
"""

from __future__ import annotations

from typing import Any

import pytest

from harness.collection.settings import Settings, add_options, collect_models_too


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    collect_models_too(config)
    settings = Settings.of(config)
    if settings.shard is not None:
        config.pluginmanager.register(_Sharding(settings.shard), "harness-sharding")
    if settings.case_paths:
        # Imported only where there are cases: every pytest of this Python loads this module.
        from harness.collection.session import KernelCases

        config.pluginmanager.register(KernelCases.of(config, settings), "harness-kernel-cases")


class _Sharding:
    def __init__(self, shard: Any) -> None:
        self._shard = shard

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """After -k and -m, so that what is left out is counted once."""
        others = [item for item in items if not self._shard.holds(item.nodeid)]
        if others:
            config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if self._shard.holds(item.nodeid)]
