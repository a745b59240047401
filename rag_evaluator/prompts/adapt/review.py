"""The report beside adapted packs: the texts that a reader who knows the language should check."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rag_evaluator.files.atomic import write_text
from rag_evaluator.prompts.adapt.translate import Mark

HEADING = """# Packs in {language}: what to review

Written by `rag-evaluator prompts adapt`. Read each text below in its pack, correct it there, and delete it here. Then
run `rag-evaluator prompts check --language {language}`.
"""
SECTION = "\n## "
PLACES_SHOWN = 3
REPLY_SHOWN = 300  # characters of a reply that was refused; others are shown in full


class PackReview(NamedTuple):
    """The report on one pack: its file name, marks with their places, and faults that `prompts check` finds."""

    name: str
    marks: Mapping[Mark, Sequence[str]]
    faults: Sequence[str]


def review_path(folder: Path, language: str) -> Path:
    return folder / f"review_{language}.md"


def write_review(folder: Path, language: str, sections: Sequence[PackReview]) -> Path:
    """Write the report; sections of packs that are not written anew are kept. Raises `ResultsError`."""
    path = review_path(folder, language)
    earlier = path.read_text(encoding="utf-8").split(SECTION)[1:] if path.is_file() else []
    names = {section.name for section in sections}
    bodies = [body.rstrip() for body in earlier if body.splitlines()[0].strip() not in names]
    bodies += [_body(section) for section in sections]
    write_text(path, HEADING.format(language=language) + "".join(f"{SECTION}{body}\n" for body in bodies))
    return path


def _body(section: PackReview) -> str:
    lines = [section.name, ""]
    lines += [f"- `prompts check` says: {fault}" for fault in section.faults]
    for mark, places in section.marks.items():
        more = f" and {len(places) - PLACES_SHOWN} more" if len(places) > PLACES_SHOWN else ""
        lines += [
            f"- {', '.join(f'`{place}`' for place in places[:PLACES_SHOWN])}{more}: {'; '.join(mark.reasons)}",
            f"  - English: {_line(mark.source)}",
            f"  - refused, English kept: {_line(mark.reply)[:REPLY_SHOWN] or '(nothing)'}"
            if mark.refused
            else f"  - used: {_line(mark.reply)}",
        ]
    return "\n".join(lines if len(lines) > 2 else [*lines, "Nothing was doubtful."])


def _line(text: str) -> str:
    return " ".join(text.split())
