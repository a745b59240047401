"""The names that a package offers to tests and to other programs: each loads when it is first used."""

from collections.abc import Callable, Mapping
from typing import Any

import lazy_loader


def facade(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    `names` has the names of each of its modules, with blanks between them; no name is that of a module.
    """
    get, listed, public = lazy_loader.attach(package, submod_attrs={module: names[module].split() for module in names})
    return get, listed, public
