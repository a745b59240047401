"""`Zygote`: command lines that begin without the seconds that imports take."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


class Zygote:
    """Starts command lines without the seconds that imports take; see zygote.py."""

    def __init__(self) -> None:
        command = [sys.executable, str(ROOT / "tests" / "zygote.py")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, **pipes)

    def run(self, record: Path, *runs: dict[str, Any]) -> list[int]:
        """Exit codes of runs that begin together: `arguments`, and if need be `environment`, `code`, `signals`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        task = {"record": str(record), "runs": [{"environment": {}, "code": "", "signals": [], **run} for run in runs]}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        return list(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
