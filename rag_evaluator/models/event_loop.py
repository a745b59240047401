"""Runs coroutines for callers that have no event loop, or are inside one already."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any


def run(coroutine: "Coroutine[Any, Any, Any]") -> Any:
    """Run a coroutine to its end, on a thread of its own if this thread's event loop is running (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    results: list[Any] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(asyncio.run(coroutine))
        except BaseException as error:  # raised again below, in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=target, name="rag-evaluator")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
