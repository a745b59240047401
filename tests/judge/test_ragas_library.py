"""ragas is imported by one door, also where langchain-community has removed what it imports."""

import subprocess
import sys

WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        removed = name == "langchain_community.chat_models.vertexai"
        return None if removed else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""


def run(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True)


def test_the_door_puts_an_empty_class_in_the_place_of_the_one_that_was_removed() -> None:
    ended = run(
        "from rag_evaluator.ragas_library import collections\n"
        "from langchain_community.chat_models.vertexai import ChatVertexAI\n"
        "print(collections.Faithfulness.__name__, ChatVertexAI.__mro__[1:])"
    )
    assert ended.stdout.strip() == "Faithfulness (<class 'object'>,)"
