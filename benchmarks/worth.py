"""`python -m benchmarks.worth`: how often judges agree with people about sentences and rows, beside counting words.

split: rows of RAGTruth (`spans` that people marked, `is_supported`), parted once by the digest of the question into a
    half to choose on and a half to report; of each question the same number of responses, by their digest.
table: finished runs of such rows with groundedness; those with `verifier.combine: words` have the figures of judge,
    words and both. Set `responses: as_written`, as marks of people are places in the text as it was written.

AUC by sentence: of a sentence without and one with a mark of people, how often the first has the higher figure, of
equal ones one half. By row: the same of `is_supported`, by the mean and by the lowest of the row's sentences.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.report import table
from rag_evaluator.config import LANGUAGES
from rag_evaluator.files import short_digest
from rag_evaluator.results import Run, verified, with_ends
from rag_evaluator.statistics import compare_with_baselines
from rag_evaluator.statistics.auc import Area
from rag_evaluator.verifiers import sentences_of, shares_of_words

HALVES = ("choose", "report")
METRIC = "groundedness"


class Sentence(NamedTuple):
    """A sentence with what people and what each way say of it."""

    question: str
    row: int
    is_supported: int
    row_is_supported: int
    figures: Mapping[str, float]


def half_of(question: str) -> str:
    """The half to which a question belongs."""
    return HALVES[int(short_digest(question), 16) % 2]


def split(rows: Sequence[dict[str, Any]], half: str, each: int) -> Iterator[dict[str, Any]]:
    """The rows of a half, of each question so many responses."""
    by_question = defaultdict(list)
    for row in rows:
        by_question[row["user_input"]].append(row)
    for question, responses in sorted(by_question.items()):
        if half_of(question) == half:
            yield from sorted(responses, key=lambda row: short_digest(row["response"]))[:each]


def sentences(run: Run) -> Iterator[Sentence]:
    """All sentences of a run that have a figure."""
    for place, sample in enumerate(run.samples):
        [record] = [line for line in run.details(place) if line["metric"] == METRIC]
        said = verified(record["judgements"]).get("sentences", ())
        claims = [part for part in sentences_of(sample.columns["response"], LANGUAGES["english"]) if part.counts]
        shares = shares_of_words([part.text for part in claims], sample.columns["retrieved_contexts"], "english")
        marks = [(span["start"], span["end"]) for span in sample.row["spans"]]
        for claim, row, share in zip(claims, said, shares, strict=bool(said)):
            is_marked = any(start < claim.end and end > claim.start for start, end in marks)
            figures = {"judge": float(row.get("judged", row["probability"])), "words": share}
            both = {"judge and words": float(row["probability"])} if "judged" in row else {}
            question = sample.columns["user_input"]
            label = int(sample.row["is_supported"])
            yield Sentence(question, place, int(not is_marked), label, {**figures, **both})


def shown(area: Area) -> str:
    """An AUC, or a difference, with its interval."""
    return with_ends(area.value, area.ci_low, area.ci_high)


def lines_of(name: str, made: Sequence[Sentence]) -> Iterator[list[str]]:
    """A line of each way: AUC by sentence, less that of words, AUC by row by mean and lowest."""
    labels = [sentence.is_supported for sentence in made]
    questions = [sentence.question for sentence in made]
    rows = {sentence.row: sentence for sentence in made}
    row_labels = [sentence.row_is_supported for sentence in rows.values()]
    row_questions = [sentence.question for sentence in rows.values()]
    words = [sentence.figures["words"] for sentence in made]

    def by_row(values: Sequence[float]) -> str:
        verdict = compare_with_baselines(values, row_labels, {"itself": values}, row_questions)
        return shown(verdict.area) if verdict else "-"

    for way in made[0].figures:
        values = [sentence.figures[way] for sentence in made]
        grouped = [[sentence.figures[way] for sentence in made if sentence.row == row] for row in rows]
        verdict = compare_with_baselines(values, labels, {"words": words}, questions)
        assert verdict is not None, "sentences of one kind only"
        above = "" if way == "words" else shown(verdict.baselines["words"].difference)
        yield [
            name,
            way,
            shown(verdict.area),
            above,
            by_row(list(map(fmean, grouped))),
            by_row(list(map(min, grouped))),
        ]
    length = by_row([-float(sum(sentence.row == row for sentence in made)) for row in rows])
    about = f"{len(made)}, {len(made) - sum(labels)} marked; {len(rows)} rows"
    yield [name, f"fewer sentences ({about})", "", "", length, length]


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worth", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    parting = commands.add_parser("split")
    parting.add_argument("rows", type=Path)
    parting.add_argument("--half", choices=HALVES, required=True)
    parting.add_argument("--each", type=int, default=3, help="responses to a question")
    parting.add_argument("--out", type=Path, required=True)
    showing = commands.add_parser("table")
    showing.add_argument("runs", type=Path, nargs="+")
    options = parser.parse_args(words)
    if options.command == "split":
        rows = [json.loads(line) for line in options.rows.read_text("utf-8").splitlines()]
        kept = [json.dumps(row, ensure_ascii=False) for row in split(rows, options.half, options.each)]
        options.out.write_text("\n".join(kept) + "\n", "utf-8")
        print(f"{len(kept)} of {len(rows)} rows in {options.out}")
        return
    lines = [line for folder in options.runs for line in lines_of(folder.name, list(sentences(Run(folder))))]
    headings = ("run", "by", "AUC by sentence", "less words'", "AUC by row, mean", "lowest")
    print(table(headings, lines))


if __name__ == "__main__":
    main()
