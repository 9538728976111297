"""Packages that offer names of their modules without loading them: a hook pays only for what it uses (ADR 0003). The
names stand in the package's `__init__.pyi`, for us as for type checkers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def lazily(package: str, *, moved: str = "") -> Callable[[str], Any]:
    """The `__getattr__` of a package. What it has `moved` is an ImportError: of an AttributeError an import tells only
    that there is no such name."""
    homes: dict[str, str] = {}

    def load(name: str) -> object:
        if not homes:
            import re
            from pkgutil import get_data

            stub = (get_data(package, "__init__.pyi") or b"").decode()
            homes.update(
                {found: home for home, found in re.findall(r"^from (\S+) import (\w+) as ", stub, re.MULTILINE)}
            )
        if name == "__all__":
            return sorted(homes)
        if name in moved.split():
            raise ImportError(f"{name} is elsewhere now: docs/how-to/upgrade.md says where", name=package)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(homes[name]), name)

    return load
