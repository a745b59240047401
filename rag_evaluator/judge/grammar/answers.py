"""`ANSWERS`: what is known of each response model, one row each."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from rag_evaluator.files import JsonDict

from .faults import Schema

BINARY = (0, 1)
STARS = (1, 2, 3, 4, 5)
RUBRIC = re.compile(r"score(\d)_description")
MAX_ITEMS = 128
Data = JsonDict  # the input that is answered, as JSON
Rule = Callable[[Schema, Data], Schema]


@dataclass(frozen=True)
class AnswerRow:
    """What is known of a response model. A model of our own may have its row as `answer_row`.

    Attributes:
        scales: field -> its values, or those of its items: ragas declares plain integers and texts. Models of our own
            have a `Literal`.
        rule: narrows the schema by the input that is answered.
        empty_where_zero: its flag, and the text that is empty where the flag is 0.
        counted: the texts that the judge writes and a metric counts, or that become a reference: a text, a list of
            texts, or of objects with a `statement`.
        kind: of these texts. `name`: a word of it must begin like one of the row; `question`: need not use its words.
        divides: the field of the input that they divide; empty: they divide none. Such a list can be used although the
            budget ended within it, since its texts have a place in their source.
        verdict: the verdict in each object of the only list, or the list of verdicts.
        asked: the field of the input that is judged text by text -> the lists of what was judged.
    """

    scales: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    rule: Rule | None = None
    empty_where_zero: tuple[str, str] | None = None
    counted: str = ""
    kind: Literal["statement", "name", "question"] = "statement"
    divides: str = ""
    verdict: str = ""
    asked: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def is_checked(self) -> bool:
        """Whether the judge's work in it is checked, see `metrics.work_checks`."""
        return bool(self.counted or self.verdict or self.asked)


def rubric_numbers(names: Iterable[str]) -> list[int]:
    """The scores that rubrics describe, ascending; names of another form describe none."""
    return sorted(int(match[1]) for match in map(RUBRIC.fullmatch, names) if match)


def _bounded(array: str, *sources: str, words_per_item: int, at_least: int = 1) -> Rule:
    """A list drawn from a text in `sources`: as many items as it can give, so that a weak model's list ends, too."""

    def rule(schema: Schema, data: Data) -> Schema:
        for text in (data[source] for source in sources if source in data):
            words = max(len(text.split()), len(text) // 6)  # characters count where a script writes no spaces
            most = max(at_least, min(MAX_ITEMS, words // words_per_item + 1))
            made_from = {"x-source": text, "x-question": data.get("question", "")}
            schema["properties"][array] |= {"minItems": at_least, "maxItems": most, **made_from}
        return schema

    return rule


def _questions(schema: Schema, data: Data) -> Schema:
    """At least one, and two about each keyphrase at most."""
    limits = {"minItems": 1, "maxItems": min(MAX_ITEMS, max(1, 2 * len(data["keyphrases"])))}
    schema["properties"]["questions"] |= {**limits, "x-source": data["text"]}
    return schema


def _answers(schema: Schema, data: Data) -> Schema:
    """Exactly one "0" or "1" for each question: ragas reads the answers as texts."""
    array = schema["properties"]["answers"]
    array["prefixItems"] = [{"enum": ["0", "1"]} for _ in data["questions"]]
    del array["items"]
    return schema


def _chosen(name: str, numbers: Callable[[Data], list[int]]) -> Rule:
    """One of the numbers that the input names, if it names some."""

    def rule(schema: Schema, data: Data) -> Schema:
        if options := numbers(data):
            schema["properties"][name] = {"enum": options}
        return schema

    return rule


def _one_each(array: str, source: str) -> Rule:
    """Exactly the statements that were given, in order, so that no verdict is lost, added or shifted."""
    return lambda schema, data: _listed(schema, array, data[source])


def _listed(schema: Schema, name: str, statements: list[str], **more: Any) -> Schema:
    array = schema["properties"][name]
    item = array.pop("items")
    array["prefixItems"] = [
        {**item, "properties": {**item["properties"], "statement": {"const": text}}} for text in statements
    ]
    array |= more
    return schema


def _recalled(schema: Schema, data: Data) -> Schema:
    """One verdict for each sentence of the reference, where these are known."""
    by_sentence = _one_each("classifications", "sentences")
    return (by_sentence if "sentences" in data else _bounded("classifications", "answer", words_per_item=2))(
        schema, data
    )


def _numbers(schema: Schema, data: Data) -> Schema:
    """Any of the numbers of the given sentences, ascending."""
    numbers = range(1, len(data["sentences"]) + 1)
    schema["properties"]["numbers"] = {
        "type": "array",
        "prefixItems": [{"const": number} for number in numbers],
        "x-optional": True,
    }
    return schema


def _partition(schema: Schema, data: Data) -> Schema:
    """Each statement of the answer is TP or FP; each of the ground truth is FN or left out."""
    for name, source in (("TP", "answer"), ("FP", "answer"), ("FN", "ground_truth")):
        _listed(schema, name, data[source], **{"x-optional": True})
    return {**schema, "x-partition": ["TP", "FP"]}


OF_RUBRICS = _chosen("score", lambda data: rubric_numbers(data.get("rubrics", ())))
STATEMENTS = AnswerRow(
    rule=_one_each("statements", "statements"), verdict="verdict", asked={"statements": ["statements"]}
)
STAR_RUBRICS = AnswerRow({"score": STARS}, OF_RUBRICS)
ANSWERS: Mapping[str, AnswerRow] = {
    "StatementGeneratorOutput": AnswerRow(
        rule=_bounded("statements", "answer", "text", words_per_item=2), counted="statements", divides="answer"
    ),
    "ClaimDecompositionOutput": AnswerRow(
        rule=_bounded("claims", "response", words_per_item=2), counted="claims", divides="response"
    ),
    "NLIStatementOutput": STATEMENTS,
    "StatementFaithfulnessOutput": STATEMENTS,
    "StatementFaithfulnessAnswer": AnswerRow({"verdict": BINARY}),
    "ContextPrecisionOutput": AnswerRow({"verdict": BINARY}),
    "ContextRecallOutput": AnswerRow(
        rule=_recalled,
        counted="classifications",
        divides="answer",
        verdict="attributed",
        asked={"sentences": ["classifications"]},
    ),
    "ContextRecallClassification": AnswerRow({"attributed": BINARY}),
    "ClassificationWithReason": AnswerRow(rule=_partition, asked={"answer": ["TP", "FP"], "ground_truth": ["FN"]}),
    "EntitiesList": AnswerRow(
        rule=_bounded("entities", "text", words_per_item=1, at_least=0), counted="entities", kind="name"
    ),
    "ExtractedKeyphrases": AnswerRow(
        rule=_bounded("keyphrases", "text", words_per_item=1), counted="keyphrases", kind="name"
    ),
    "QuestionsGenerated": AnswerRow(rule=_questions, counted="questions", kind="question"),
    "AnswersGenerated": AnswerRow({"answers": ("0", "1")}, _answers, verdict="answers"),
    "AnswerRelevanceOutput": AnswerRow({"noncommittal": BINARY}, counted="question", kind="question"),
    "ContextRelevanceOutput": AnswerRow({"rating": (0, 1, 2)}),
    "ResponseGroundednessOutput": AnswerRow({"rating": (0, 1, 2)}),
    "AnswerAccuracyOutput": AnswerRow({"rating": (0, 2, 4)}),
    "RubricScoreOutput": STAR_RUBRICS,
    "InstanceRubricScoreOutput": STAR_RUBRICS,
    "SentencesOutput": AnswerRow(rule=_numbers),
    "CustomOutput": AnswerRow(rule=_chosen("label", lambda data: [int(label) for label in data["scale"]])),
    "RewriteOutput": AnswerRow(counted="question"),
    "ReferenceOutput": AnswerRow(empty_where_zero=("answerable", "answer"), counted="answer"),
}
"""Name of a response model -> its row; one inside another has a row of its own."""
NOTHING_KNOWN = AnswerRow()


def row_of(response_model: type[BaseModel]) -> AnswerRow:
    """Return the row of a response model; an empty one for a model of the user's."""
    own: AnswerRow | None = getattr(response_model, "answer_row", None)
    return own or ANSWERS.get(response_model.__name__, NOTHING_KNOWN)
