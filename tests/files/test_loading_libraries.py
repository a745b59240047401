"""While libraries are imported nobody looks for garbage; afterwards it is as it was."""

import gc

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
