"""The tool that counts the way of a value: on toys small enough to count by hand."""

from pathlib import Path

import pytest

from tools.definitions import Package
from tools.trace_value import trace

USES = "def use(judge): return judge\ndef name(judge) -> str: return judge\n"
KEEPS = """
from toy.uses import use
class Keeper:
    def __init__(self, judge, other):
        self.judge, self.other = judge, other
    def load(self):
        return use(self.judge)
    def unload(self):
        return use(self.other)
"""
TOYS = {  # what is followed -> the module with `start(value)`, further modules, its modules and returns by hand
    "nothing": ("def start(value): return 1", {}, 1, 0),
    "a call": ("from toy.uses import use\ndef start(value): use(value)", {}, 2, 0),
    "a call by keyword": ("from toy.uses import use\ndef start(value): use(judge=value)", {}, 2, 0),
    "a call into the same module": ("def start(value): end(value)\ndef end(it): print(it)", {}, 1, 0),
    "a module that is entered again": (
        "from toy.uses import use\ndef start(value): use(value), end(value), use(value)\ndef end(it): print(it)",
        {},
        2,
        2,  # start, uses, start, uses
    ),
    "no way back by the end of a call alone": (
        "from toy.uses import use\ndef start(value): use(value), use(value)",
        {},
        2,
        0,
    ),
    "a function that is read once": (
        "from toy.between import first\ndef start(value): first(value), first(value)",
        {"between": "from toy.uses import use\ndef first(it): use(it)"},
        3,
        1,  # start, between, uses, between
    ),
    "a call within a call before it": (
        "from toy.uses import use\nfrom toy.between import first\ndef start(value): first(use(value))",
        {"between": "def first(it): print(it)"},
        3,
        0,  # what use returns is the value
    ),
    "both branches": (
        "from toy.uses import use\nfrom toy.between import first\n"
        "def start(value):\n    if value: use(value)\n    else: first(value)",
        {"between": "def first(it): print(it)"},
        3,
        0,
    ),
    "a changed copy": ("from toy.uses import use\ndef start(value): use(value.model_copy(update={'a': 1}))", {}, 2, 0),
    "a part and its element": ("from toy.uses import use\ndef start(value): use(value.parts[0])", {}, 2, 0),
    "no length, text, truth value": (
        "from toy.uses import use\ndef start(value):\n    use(len(value)), use(f'{value}'), use(value == 1)",
        {},
        1,
        0,
    ),
    "no text that a function returns": (
        "from toy.uses import name\nfrom toy.between import first\ndef start(value): first(name(value))",
        {"between": "def first(it): print(it)"},
        2,
        0,
    ),
    "an object that keeps it, where that is used": (
        "from toy.keeps import Keeper\ndef start(value):\n    keeper = Keeper(value, 1)\n    keeper.load()",
        {},
        3,
        0,  # start, keeps (made and loaded), uses
    ),
    "an object that keeps it, but not to what else it keeps": (
        "from toy.keeps import Keeper\ndef start(value):\n    keeper = Keeper(value, 1)\n    keeper.unload()",
        {},
        2,
        0,
    ),
    "a dataclass": (
        "from toy.data import Data\nfrom toy.uses import use\ndef start(value): end(Data(1, it=value))\n"
        "def end(data: Data): use(data.it), use(data.other)",
        {"data": "from dataclasses import dataclass\n@dataclass\nclass Data:\n    other: str\n    it: object"},
        2,
        0,
    ),
    "a Protocol, by the class that keeps it": (
        "from toy.protocol import Loads\nfrom toy.keeps import Keeper\n"
        "def start(value): end(Keeper(value, 1))\ndef end(it: Loads): it.load()",
        {"protocol": "from typing import Protocol\nclass Loads(Protocol):\n    def load(self): ..."},
        3,
        2,  # start, keeps, start, keeps, uses
    ),
}


@pytest.mark.parametrize("start, others, modules, returns", TOYS.values(), ids=list(TOYS))
def test_modules_and_returns_are_those_counted_by_hand(
    start: str, others: dict[str, str], modules: int, returns: int, tmp_path: Path
) -> None:
    counts = trace(_toy(tmp_path, start, others), "toy.begin:start:value").counts()
    assert (counts["modules"], counts["returns"]) == (modules, returns)


@pytest.mark.parametrize("start", ["toy.begin:end:value", "toy.begin:start:end"])
def test_a_start_that_is_not_there_is_refused(start: str, tmp_path: Path) -> None:
    package = _toy(tmp_path, "def start(value): pass", {})
    with pytest.raises(SystemExit, match=start):
        trace(package, start)


def _toy(folder: Path, start: str, others: dict[str, str]) -> Package:
    (folder / "toy").mkdir()
    for name, text in {"begin": start, "uses": USES, "keeps": KEEPS, **others}.items():
        (folder / "toy" / f"{name}.py").write_text(text, encoding="utf-8")
    return Package.read(folder, "toy")
