"""The subcommands of `harness`: each module has `register(subcommands)` and sets `run(options) -> int`."""
