"""While libraries are imported nobody looks for garbage; afterwards it is as it was."""

import gc
import subprocess
import sys

import pytest

from rag_evaluator.files import ACTIVITY, LIBRARIES, loading_libraries


@pytest.fixture(autouse=True)
def collecting() -> None:
    gc.enable()


def test_garbage_is_not_looked_for_inside_and_the_phase_is_named() -> None:
    with pytest.raises(ImportError), loading_libraries():
        assert not gc.isenabled()
        assert ACTIVITY.state().phase == LIBRARIES
        with loading_libraries():
            pass
        assert not gc.isenabled(), "the outer one decides"
        raise ImportError
    assert gc.isenabled()


def test_whoever_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with loading_libraries():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_only_a_process_of_our_own_forgets_what_was_imported() -> None:
    lines = (
        "import gc; before = gc.get_freeze_count(); from rag_evaluator.files import imports; {own}",
        "with imports.loading_libraries(): pass",
        "print(gc.get_freeze_count() > before, gc.isenabled())",
    )
    for own, frozen in (("imports.own_process()", True), ("pass", False)):
        script = "\n".join(lines).format(own=own)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(frozen), "True"]
