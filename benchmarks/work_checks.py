"""How often honest texts are flagged, and how many copies are found: `python -m benchmarks.work_checks DATA`.

DATA is a folder with `ragtruth/qa.jsonl` (answers whose unsupported spans people marked) and `xquad/rag_<code>.jsonl`.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.report import table
from rag_evaluator.config import LANGUAGES, find_language, sentences_of
from rag_evaluator.judge import PromptText
from rag_evaluator.metrics import all_prompts, check_work
from rag_evaluator.metrics.work_checks import COUNTED, IN_DENSE, normalised
from rag_evaluator.prompts import ENGLISH, PACKAGED, Key, TracedPrompt, english_pack, pack_path
from rag_evaluator.prompts.pack import load_pack
from rag_evaluator.results import COPIED, FOREIGN, REPEATED

PAGE = Path(__file__).with_suffix(".md")
OWN_TEXTS = Path(__file__).with_suffix(".jsonl")
CODES = ("en", "es", "de", "zh")
COLUMNS = ("texts", "of", "number", "copied", "foreign", "repeated")
STATEMENTS = ("faithfulness", "statement_generator_prompt")
QUESTION = ("answer_relevancy", "prompt")
NAMES = ("context_entity_recall", "prompt")
# that must be flagged, or cannot be known
ONE = "texts that are one"
APART = "names that change at the beginning"
LONGEST_NAME = 4  # words
INTRODUCTION = """# Checks of a judge's work: honest texts that are flagged, and copies that are found

Each text is checked alone, as if a judge had written it, with the code that checks every score. *RAGTruth*: sentences
of answers in which people marked nothing, against question and passages without the answer itself. *XQuAD*: the row's
own question against its reference. *Own input*: the answers in the examples of the packs, in ten languages and English,
with the example's input as the row. *Copies*: the same answers, each tried with ten rows of XQuAD (800 to 3,000
letters). *Names of another row*: answers of XQuAD that begin with a capital (Chinese: of at most twelve signs), against
another row whose passages do not hold them: its first passage alone, and all four.
Other lines are texts of our own, in `work_checks.jsonl`, in 30 languages: names in another case, with an article or in
another order; texts with and without vowel signs; questions that differ from an example of the pack by a name; pairs
of statements that differ by a sign (*repeated* would be wrong), or are one (*repeated* is right). *Names that change at
the beginning* (Орёл, в Орле; Київ, у Києві; kana for kanji; WHO) are called foreign: no rule of letters knows them.
`python -m benchmarks.work_checks DATA` makes this page.
"""
OTHER_FIELDS = {"AnswerRelevanceOutput": {"noncommittal": 0}, "ReferenceOutput": {"answerable": 1}}
ROWS = 10  # that each copy is tried with
Row = Mapping[str, Any]  # Any: JSON


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def flags_of(prompt: PromptText, model: type[BaseModel], texts: str | Sequence[str], row: Any) -> set[str]:
    """The flags of a text, or of several, as the whole answer; of objects the verdict does not matter."""
    field = COUNTED[model.__name__].field
    items = [texts] if isinstance(texts, str) else texts
    answer: Any = {field: texts if model.model_fields[field].annotation is str else items}
    answer |= OTHER_FIELDS.get(model.__name__, {})
    if model.__name__ == "ContextRecallOutput":
        answer = {field: [{"statement": text, "reason": "", "attributed": 1} for text in items]}
    return set(check_work([(prompt, model.model_validate(answer))], row)[0])


def checked_prompts() -> Iterator[tuple[Key, str, TracedPrompt]]:
    """Every prompt whose texts are counted, with its language."""
    for key, prompt in all_prompts().items():
        if prompt.output_model.__name__ in COUNTED:
            yield key, ENGLISH, TracedPrompt(prompt, key[1], english_pack(prompt))
            for language in LANGUAGES:
                path = pack_path(PACKAGED[0], key, language)
                if path.is_file():
                    yield key, language, TracedPrompt(prompt, key[1], load_pack(path, prompt))


def texts_of(prompt: TracedPrompt, output: Row) -> list[str]:
    """The texts in an answer that say something."""
    value = output[COUNTED[prompt.prompt.output_model.__name__].field]
    items = [value] if isinstance(value, str) else value
    texts = (item if isinstance(item, str) else item["statement"] for item in items)
    return [text for text in texts if text.strip()]


def supported(data: Path, prompts: Mapping[Key, TracedPrompt]) -> Iterator[set[str]]:
    """Sentences of RAGTruth that people call supported."""
    prompt = prompts[STATEMENTS]
    for row in rows_of(data / "ragtruth" / "qa.jsonl"):
        shown = [row["user_input"], *row["retrieved_contexts"]]
        asked = prompt.to_string(prompt.prompt.input_model(question=shown[0], answer=" ".join(shown[1:])))
        place = 0
        for sentence in sentences_of(row["response"], find_language(ENGLISH)):
            start = row["response"].find(sentence, place)
            place = start + len(sentence)
            if not any(span["start"] < place and start < span["end"] for span in row["spans"]):
                yield flags_of(asked, prompt.prompt.output_model, sentence, shown)


def questions(data: Path, code: str, prompt: TracedPrompt) -> Iterator[set[str]]:
    """Questions of XQuAD, against the reference alone."""
    for row in rows_of(data / "xquad" / f"rag_{code}.jsonl"):
        asked = prompt.to_string(prompt.prompt.input_model(response=row["reference"]))
        yield flags_of(asked, prompt.prompt.output_model, row["user_input"], row["reference"])


def own_input(prompt: TracedPrompt) -> Iterator[set[str]]:
    """The answers of a pack's examples, with the example's input as the row."""
    for example in prompt.pack.examples:
        asked = prompt.to_string(prompt.prompt.input_model(**example["input"]))
        for text in texts_of(prompt, example["output"]):
            yield flags_of(asked, prompt.prompt.output_model, text, example["input"])


def copies(prompt: TracedPrompt, rows: Sequence[Row]) -> Iterator[set[str]]:
    """The answers of a pack's examples where another row is asked about."""
    empty = {
        name: "" if field.annotation is str else [] for name, field in prompt.prompt.input_model.model_fields.items()
    }
    texts = [text for example in prompt.pack.examples for text in texts_of(prompt, example["output"])]
    for number, text in enumerate(texts):
        for place in range(ROWS):
            row = rows[(ROWS * number + place) % len(rows)]
            inputs = {**empty, **{name: row["response"] for name in ("answer", "text", "response") if name in empty}}
            asked = prompt.to_string(prompt.prompt.input_model(**inputs))
            yield flags_of(asked, prompt.prompt.output_model, text, row)


def own_texts(prompts: Mapping[tuple[Key, str], TracedPrompt]) -> Iterator[tuple[str, set[str]]]:
    """The flags of each line of `work_checks.jsonl`, with its kind."""
    for each in rows_of(OWN_TEXTS):
        texts = each.get("texts") or each["text"]
        row = each.get("row") or " ".join(texts)
        key = next(
            (key for word, key in (("name", NAMES), ("question", QUESTION)) if each["kind"].startswith(word)),
            STATEMENTS,
        )
        prompt = prompts.get((key, each.get("language")), prompts[key, ENGLISH])
        shown = {"question": "", "answer": row, "text": row, "response": row}
        model = prompt.prompt.input_model
        asked = prompt.to_string(model(**{name: shown[name] for name in model.model_fields}))
        yield each["kind"], flags_of(asked, prompt.prompt.output_model, texts, row)


def names_of_others(rows: Sequence[Row], prompt: TracedPrompt, passages: slice) -> Iterator[set[str]]:
    """Answers that are names, where passages of another row are shown that do not hold them."""
    names = [row["reference"].strip(" .。") for row in rows]
    for number, name in enumerate(names):
        if not name[0].isupper() and not (IN_DENSE.match(name) and len(name) <= 3 * LONGEST_NAME):
            continue
        for place in range(1, ROWS + 1):
            text = " ".join(rows[(number + 17 * place) % len(rows)]["retrieved_contexts"][passages])
            if len(name.split()) <= LONGEST_NAME and normalised(name) not in normalised(text):
                asked = prompt.to_string(prompt.prompt.input_model(text=text))
                yield flags_of(asked, prompt.prompt.output_model, [name], text)


def line(name: str, of: str, flags: Sequence[set[str]]) -> list[str]:
    shares = (sum(flag in each for each in flags) / max(len(flags), 1) for flag in (COPIED, FOREIGN, REPEATED))
    return [name, of, f"{len(flags):,}", *(f"{100 * share:.2f} %" for share in shares)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    prompts = list(checked_prompts())
    english = {key: prompt for key, language, prompt in prompts if language == ENGLISH}
    of_language = {(key, language): prompt for key, language, prompt in prompts}
    honest = list(supported(data, english))
    lines = [line("RAGTruth, supported sentences", "english", honest)]
    for code in CODES:
        language = find_language(code).name
        flags = list(questions(data, code, of_language[QUESTION, language]))
        lines.append(line("XQuAD, questions", language, flags))
        honest = [*honest, *flags]
    keys = list(dict.fromkeys(key for key, _, _ in prompts))
    for key in keys:
        flags = [flag for k, _, prompt in prompts if k == key for flag in own_input(prompt)]
        lines.append(line("own input", " ".join(key), flags))
        honest += flags
    own = list(own_texts(of_language))
    for kind in dict.fromkeys(kind for kind, _ in own):
        flags = [flag for other, flag in own if other == kind]
        lines.append(line(kind, "", flags))
        honest += flags if kind not in {ONE, APART} else []
    lines.append(line("**all honest texts**", "", honest))
    found: dict[tuple[Key, str], list[set[str]]] = {}
    for code in CODES:
        rows = rows_of(data / "xquad" / f"rag_{code}.jsonl")
        language = find_language(code).name
        long = [row for row in rows if 800 <= len(json.dumps(row, ensure_ascii=False)) <= 3000]
        found |= {(key, language): list(copies(of_language[key, language], long)) for key in keys}
        for shown, passages in (("one passage", slice(1)), ("four passages", slice(None))):
            flags = list(names_of_others(rows, of_language[NAMES, language], passages))
            lines.append(line(f"names of another row, {shown}", language, flags))
    for key in keys:
        lines.append(
            line("copies", " ".join(key), [flag for (k, _), flags in found.items() if k == key for flag in flags])
        )
    for language in dict.fromkeys(language for _, language in found):
        flags = [flag for (_, spoken), each in found.items() if spoken == language for flag in each]
        lines.append(line("copies", language, flags))
    PAGE.write_text(INTRODUCTION + "\n" + table(COLUMNS, lines) + "\n", encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
