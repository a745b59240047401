"""The commands that README, docs and helps show."""

import argparse
import re
from pathlib import Path

EXAMPLE = re.compile(r"^  (rag-evaluator .*?)(?: {2,}#.*)?$", re.MULTILINE)
ROOT = Path(__file__).parents[2]


def examples_of(parser: argparse.ArgumentParser) -> list[str]:
    """The command lines in the help of a command."""
    return EXAMPLE.findall(parser.epilog or "")
