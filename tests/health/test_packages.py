"""Packages that break each other: found by what they declare, and by what is known though nobody declares it."""

import pytest

from rag_evaluator.features.setup import doctor as packages

GOOD = {"ragas-offline": "0.1.0", "ragas": "0.4.3", "torch": "2.13.0+cpu", "transformers": "5.23.0"}
DECLARED = {
    "ragas-offline": ["ragas>=0.4.3,<0.5", "torch>=2.6", "transformers>=5.0,<6", 'pytest>=9; extra == "dev"'],
    "ragas": ["Instructor", 'colorama; platform_system == "Windows"', "langchain_community"],
    "vllm": ["transformers>=4.56,<5.20", "torch==2.13.0"],
    "strange": ["no requirement at all (((", "torch>=2"],
}
CASES = {  # what is installed beside the good ones, or instead -> parts of each problem, and of what to do
    "nothing else": ({"instructor": "1.17.0", "langchain-community": "0.4.1"}, []),
    "a langchain-community without a class that ragas imports": (
        {"instructor": "1.17.0", "langchain-community": "0.4.2"},
        [],
    ),
    "an instructor of 2024": (
        {"instructor": "1.3.2", "langchain-community": "0.4.1"},
        [("instructor 1.3.2: ragas needs a newer", "pip install 'instructor>=1.11'")],
    ),
    "a transformers that we do not know": (
        {"instructor": "1.17.0", "langchain-community": "0.4.1", "transformers": "6.0.1"},
        [("ragas-offline needs transformers<6,>=5.0, installed is 6.0.1", "pip install 'transformers<6,>=5.0'")],
    ),
    "a vLLM that needs another transformers": (
        {"instructor": "1.17.0", "langchain-community": "0.4.1", "vllm": "0.32.0"},
        [("vllm needs transformers<5.20,>=4.56, installed is 5.23.0", "pip install")],
    ),
    "a package that is missing": (
        {"langchain-community": "0.4.1"},
        [("ragas needs Instructor, which is not installed", "pip install 'Instructor'")],
    ),
    "the other project's files": (
        {"instructor": "1.17.0", "langchain-community": "0.4.1", "rag-evaluator": "0.3.1"},
        [("rag-evaluator 0.3.1: the distribution 'rag-evaluator' puts its files", "pip uninstall rag-evaluator")],
    ),
    "versions and requirements that nobody can read": (
        {"instructor": "made-by-hand", "langchain-community": "0.4.1", "strange": "1"},
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_packages_that_do_not_fit_are_named_with_what_to_do(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others, expected = CASES[case]
    there = {**GOOD, **others}
    monkeypatch.setattr(packages, "installed_version", lambda name: there.get(name.lower().replace("_", "-")))
    monkeypatch.setattr(packages, "requires", lambda name: DECLARED.get(name.lower()))
    monkeypatch.setattr(packages, "EXTENDS", ("vllm", "strange"))
    found = packages.problems_of_packages()
    assert len(found) == len(expected), found
    for (what, todo), (part, mended) in zip(sorted(found), sorted(expected), strict=True):
        assert part in what
        assert todo.startswith(mended)


def test_this_installation_has_no_problem() -> None:
    assert packages.problems_of_packages() == []
    assert {"ragas", "torch", "transformers", "llguidance"} <= packages.installed().keys()


def test_a_clone_that_is_not_installed_has_the_requirements_of_its_project(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> list[str]:
        raise packages.PackageNotFoundError(name)

    monkeypatch.setattr(packages, "requires", unknown)
    assert any(text.startswith("ragas>=0.4.3") for text in packages.declared())
