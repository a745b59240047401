"""While libraries are imported nobody looks for garbage; afterwards it is as it was."""

import gc

import pytest

from rag_evaluator.files.imports import LIBRARIES, loading_libraries
from rag_evaluator.files.progress import ACTIVITY


@pytest.fixture(autouse=True)
def collecting() -> None:
    gc.enable()


def test_garbage_is_not_looked_for_inside_and_the_phase_is_named() -> None:
    with loading_libraries():
        assert not gc.isenabled()
        assert ACTIVITY.state().phase == LIBRARIES
        with loading_libraries():
            pass
        assert not gc.isenabled(), "the outer one decides"
    assert gc.isenabled()


def test_an_import_that_fails_leaves_the_collector_on() -> None:
    with pytest.raises(ImportError), loading_libraries():
        import no_such_library  # type: ignore[import-not-found]  # noqa: F401
    assert gc.isenabled()


def test_whoever_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with loading_libraries():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
