"""Packages that offer names of their modules without loading them: a hook pays only for what it uses (ADR 0003)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazily(
    package: str, homes: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], list[str]]:
    """What a package needs to offer names of its modules without loading them: its `__getattr__` and `__all__`. `moved`
    says where names are that were here once: an ImportError, because of an AttributeError an import tells nothing."""
    found = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in found:
            for place, names in (moved or {}).items():
                if name in names.split():
                    raise ImportError(f"{name} is {place} now (docs/how-to/upgrade.md)", name=package)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(found[name]), name)

    return load, sorted(found)
