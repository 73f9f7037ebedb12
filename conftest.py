"""pytest's own plugin tests need its `pytester` fixture, which only a root conftest may ask for."""

pytest_plugins = ["pytester"]
