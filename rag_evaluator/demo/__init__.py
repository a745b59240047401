"""The demo judge: a toy language model that lets the whole program run in seconds, without any download."""

from pathlib import Path

DEMO_JUDGE: Path = Path(__file__).parent / "judge"
