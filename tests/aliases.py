"""Types that annotations of many tests name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Capture = pytest.CaptureFixture[str]
Json = dict[str, Any]  # Any: JSON
ModelFolder = Callable[..., Path]  # the fixture `model_folder`
Patch = pytest.MonkeyPatch
Rows = list[Json]
