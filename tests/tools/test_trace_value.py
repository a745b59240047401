"""The tool that counts what a value passes, on a package small enough to count by hand."""

from pathlib import Path

import pytest

from tools.trace_value import trace

SOURCES = {
    "__init__.py": "",
    "start.py": """
from small.keeping import Keeper, Settings
from small.using import ask, name_of

def begin(judge, other):
    judge = judge or None
    keeper = Keeper(judge, other)
    ask(question="?", judge=judge)
    name_of(other)
    return keeper.load()

def configure(settings: Settings):
    name_of(settings.inner)
    name_of(settings.name)
""",
    "keeping.py": """
class Keeper:
    def __init__(self, judge, other):
        self.judge, self.other = judge, other

    def load(self):
        return self.judge

    def other_load(self):
        return self.other

class Inner:
    name: str

class Settings:
    inner: Inner
    name: str
""",
    "using.py": """
from small import deep

def ask(question, judge):
    return deep.last([judge])

def name_of(other):
    return "name"
""",
    "deep.py": """
def last(judges):
    def inside():
        return judges[0]
    return len(judges)
""",
    "holding.py": """
from small.keeping import Keeper

def hold(keeper: Keeper):
    return touch(keeper)

def touch(anything):
    return None
""",
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small").mkdir()
    for name, text in SOURCES.items():
        (tmp_path / "small" / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_value_is_followed_through_calls_attributes_and_returns(small: Path) -> None:
    followed = trace(small, "small.start:begin:judge")
    names = {f"{place.module}:{place.name}" for place in followed.functions}
    assert names == {
        "small.start:begin",
        "small.keeping:Keeper.__init__",
        "small.keeping:Keeper.load",
        "small.using:ask",
        "small.deep:last",
    }
    assert followed.stored == {(followed.package.find("small.keeping", "Keeper"), "judge")}
    # passed to Keeper, ask and last; four functions return something, begin and load return the judge
    assert followed.counts() == {"modules": 4, "functions": 5, "passed": 3, "stored": 1, "returns": 4, "back": 2}


def test_an_object_that_holds_the_value_is_followed_where_that_is_asked_for(small: Path) -> None:
    start = "small.start:begin:other"
    alone, held = trace(small, start), trace(small, start, holders=True)
    assert "keeper" not in {name for _, name in alone.names}
    assert "keeper" in {name for _, name in held.names}


def test_parts_of_a_value_are_followed_if_they_are_objects_of_the_package(small: Path) -> None:
    assert trace(small, "small.start:configure:settings").counts()["passed"] == 1


def test_a_start_that_is_not_there_is_refused(small: Path) -> None:
    with pytest.raises(SystemExit, match=r"small\.start:end:x: no function end in small\.start"):
        trace(small, "small.start:end:x")
