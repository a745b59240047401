"""The text of a first configuration: what matters, each key with a comment."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from rag_evaluator.api.starter_parts import (
    PREFERRED,
    Proposal,
    Wishes,
    embeddings_fit,
    has_demo_embeddings,
    is_possible,
)
from rag_evaluator.config_sections import DEMO
from rag_evaluator.dataset.columns import accepted_names
from rag_evaluator.metrics.table import METRICS
from rag_evaluator.program import command

WIDTH = 44  # of what stands before a comment
LONGEST = 120  # characters of a comment's line
PLAIN = re.compile(r"[^\W\d_][\w./ -]*\w")


TEXT_COLUMNS = {
    "user_input": "the question",
    "retrieved_contexts": "what was retrieved for it, best first",
    "response": "the answer of your system",
    "reference": "the right answer",
    "reference_contexts": "the contexts that should be retrieved",
}


def text_of(data: Path, wishes: Wishes, parts: Proposal) -> str:
    sections = (
        _heading(data, wishes, parts),
        _dataset(data, wishes, parts),
        _metrics(parts, wishes),
        _models(parts, wishes),
        [_line("offline: true", "nothing is downloaded, no connection is opened")],
    )
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _heading(data: Path, wishes: Wishes, parts: Proposal) -> list[str]:
    looked = f"its {len(parts.survey.samples)} rows" if parts.survey.is_all else "its first 1,000 rows"
    return [
        f"# Made by `init` from {_shown(data.name)}: it has looked at {looked}. Correct what is wrong.",
        "# Relative paths count from this file. Any key can be overridden: --set judge.batch_size=32",
        *(row for warning in parts.warnings for row in _comment(f"Note: {warning}.")),
    ]


def _dataset(data: Path, wishes: Wishes, parts: Proposal) -> list[str]:
    found, base = parts.survey, wishes.out.expanduser().absolute().parent
    path = data.expanduser().absolute()
    inside = path.relative_to(base) if path.is_relative_to(base) else path
    name = wishes.name or run_name(data)
    lines = [
        _line(f"name: {_scalar(name)}", f"results go to results/{_shown(name)}/"),
        _line(f"dataset: {_scalar(str(inside))}", ""),
    ]
    if found.columns:
        lines.append(_line("columns:", "your names, and what they are read as"))
        lines += [_line(f"  {_scalar(own)}: {_scalar(to)}", _meaning(to)) for own, to in found.columns.items()]
    unmapped = {names[0]: column for column, names in found.names.items() if names[0] not in found.columns}
    read = [own if own == column else f"{own} as {column}" for own, column in unmapped.items()]
    lines += _comment(f"Read without being named: {', '.join(map(_shown, read))}.") if read else []
    lines += _comment(f"Not used: {', '.join(map(_shown, found.unused))}.") if found.unused else []
    lines.append(_line("output_dir: results", ""))
    guessed = "of the prompts" if wishes.language else "of the prompts; recognised from your texts"
    return [*lines, _line(f"language: {_scalar(wishes.language or parts.language)}", guessed)]


def _meaning(to: str) -> str:
    canonical, bracket, mark = to.partition("[")
    between = f"; several in a cell, with {json.dumps(mark[:-1], ensure_ascii=False)} between them" if bracket else ""
    return TEXT_COLUMNS.get(canonical, canonical) + between


def _metrics(parts: Proposal, wishes: Wishes) -> list[str]:
    lines = [_line("metrics:", f"all with their meaning: {command('list', 'metrics')}")]
    lines += [_line(f"  - {_scalar(name)}", _about(name)) for name in parts.metrics]
    if parts.possible:
        lines.append("  # Your columns allow these, too:")
    for name in parts.possible:
        fits = embeddings_fit(METRICS[name], parts.language, wishes)
        lines.append(_line(f"  # - {name}", f"{_about(name)}{'' if fits else '; needs embeddings.model'}"))
    for column in ("response", "retrieved_contexts", "reference"):
        with_it = [name for name in PREFERRED if is_possible(METRICS[name], [*parts.survey.present, column])]
        new = [name for name in with_it if not is_possible(METRICS[name], parts.survey.present)]
        if column not in parts.survey.present and new:
            names = ", ".join(accepted_names(column)[:2])
            lines += _comment(f"With a column of {column} ({names}): {', '.join(new)}.", "  # ")
    return lines


def _about(name: str) -> str:
    return METRICS[name].about if name in METRICS else ""


def _models(parts: Proposal, wishes: Wishes) -> list[str]:
    toy = "a toy; your judge: the folder of a model, or a hub id in the cache"
    judge = toy if wishes.judge == DEMO else "the folder of the model that judges"
    return [
        "judge:",
        _line(f"  model: {_scalar(wishes.judge)}", judge),
        _line("  # engine: vllm", "what runs it: transformers (the default), vllm or server; docs/engines.md"),
        _line("  # dtype: bfloat16", "auto (the default): as it was saved"),
        _line("  batch_size: auto", "questions at a time: 16, on a GPU as many as fit it; of a server 32, vLLM 256"),
        "",
        *_embeddings(wishes),
    ]


def _embeddings(wishes: Wishes) -> list[str]:
    """The section; as a comment where there are no embeddings."""
    is_demo = wishes.embeddings == DEMO
    off = "# " if is_demo and not has_demo_embeddings() else ""
    model = "/models/my-embeddings" if off else wishes.embeddings
    english = "for English only; else a sentence-transformers folder for your language"
    folder = "a sentence-transformers folder for your language"
    return [
        _line(f"{off}embeddings:", "for answer_relevancy, answer_correctness and semantic_similarity only"),
        _line(f"{off}  model: {_scalar(model)}", folder if off else english if is_demo else ""),
    ]


def run_name(data: Path) -> str:
    """A name for the run, after the file: it becomes a folder."""
    name = re.sub(r"[^\w.\- ]", "-", data.stem or data.name).lstrip(".- ")[:100].rstrip(". ")
    return name or "run"


def _line(text: str, comment: str) -> str:
    return f"{text:<{WIDTH}}# {comment}" if comment else text


def _comment(text: str, start: str = "# ") -> list[str]:
    """Comment lines of at most `LONGEST` characters, if the words allow it."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(start) + len(lines[-1]) + 1 + len(word) > LONGEST:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return [f"{start}{line}" for line in lines]


def _shown(text: str) -> str:
    """A text for a comment, on one line."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _scalar(text: Any) -> str:
    """A text as YAML reads it: in quotes where it would be read as something else."""
    plain = PLAIN.fullmatch(text) is not None and yaml.safe_load(text) == text
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())
