"""What a response says, what is around it, and which of its sentences count."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluator import RAGEvaluator
from rag_evaluator.config import LANGUAGES
from rag_evaluator.dataset import load_dataset, open_dataset
from rag_evaluator.dataset.response import read_response
from rag_evaluator.report.row_sentences import as_written
from rag_evaluator.report.texts import TextPart
from rag_evaluator.verifiers import sentences_of

ENGLISH = LANGUAGES["english"]
BORN = "She was born in Tesk."
SAID = {  # what is around it -> texts that say BORN
    "thought": [
        f"<think>\nPerhaps in Marlow? No.\n</think>\n\n{BORN}",
        f"<THINK>Perhaps.</THINK>{BORN}",
        f"Perhaps in Marlow? No.\n</think>\n\n{BORN}",
        f"<thinking>Hm.</thinking>\n<reasoning>Tesk.</reasoning>\n{BORN}",
        f"[THINK]Hm.[/THINK]{BORN}",
        f"◁think▷Hm.◁/think▷{BORN}",
        f"<think>Is it `x or ```y?</think>{BORN}",
        f"{BORN} <think>Is that so?</think>",
        f"<think>Hm.</think><think>\nTesk.\n</think>{BORN}",
        f"{BORN[:13]}<think>Is\nthat so?</think> {BORN[13:]}",
        f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{BORN}<|return|>",
        f"<|start|>assistant<|channel|>final<|message|>{BORN}",
        f"analysisWe need it.assistantfinal{BORN}",
    ],
    "citation mark": [
        f"{BORN[:-1]} [1].",
        f"{BORN[:-1]}[1][2].",
        f"{BORN} [1], [2]",
        f"{BORN[:-1]} [1, 3-5].",
        f"[1] {BORN}",
        f"{BORN[:-1]} [Source 2].",
        f"{BORN[:-1]} [Source: a.pdf, p. 3].",
        f"{BORN[:-1]} (Source: a.pdf, p. 3).",
        f"{BORN[:-1]} (Document 2).",
        f"{BORN[:-1]} (Passage 1, Passage 3).",
        f"{BORN[:-1]} (passages 1, 2 and 4).",
        f"{BORN[:-1]} [Quelle 2].",
        f"{BORN[:-1]}【来源2】.",
        f"{BORN[:-1]} [doc1][doc2].",
        f"{BORN[:-1]} [citation:3][citation:5].",
        f"{BORN[:-1]} [cite: 1, 2].",
        f"{BORN[:-1]} [a.pdf, p. 3].",
        f"{BORN[:-1]}【4:0†source】.",
        f"{BORN[:-1]} 【12†L5-L10】.",
        f"{BORN[:-1]} [[1]](https://example.org/a).",
        f"{BORN[:-1]} [2](https://example.org/a).",
        f"{BORN[:-1]} <sup>[2]</sup>.",
        f"{BORN}<sup>2</sup>",
        f"{BORN}²",
        f"{BORN[:-1]} [^1].",
        f"{BORN[:-1]} \ue200cite\ue202turn0search1\ue201.",
        f"{BORN}citeturn0search1turn0news2",
        f'<cite index="0-1">{BORN}</cite>',
        f"{BORN[:-1]}<ref>2</ref>.",
        f"{BORN}\n\nSources:\n[1] a.pdf\n- https://example.org",
        f"{BORN}\n[^1]: The register of Tesk, 2019.",
        f"{BORN[:-1]} ［２］.",
    ],
    "bold": [f"**{BORN}**", "She was **born** in __Tesk__."],
    "code": [f"```markdown\n{BORN}\n```", f"```\n{BORN}\n```\n"],
}
UNCHANGED = [
    "She moved to Tesk (2019).",
    "In [1999] it was old.",
    'She said "I is [sic] here".',
    "The value a[0] is the first.",
    "The value `rows[1]` is the second.",
    "x = arr[1] + total[2]",
    "It lies in the range [0, 1].",
    "Take a value between [1, 5] here.",
    "In [3], the authors say so.",
    "The list is [1, 2, 3].",
    "[1]",
    "The wall has 5 m² and 10³ stones, x<sup>2</sup>.",
    "See appendix [A] and [citation needed].",
    "It is (1) old and (2) green.",
    "The tag <think> is used by Qwen, and </think> ends it.",
    "Write `<think>` here.",
    'It opens with "<think>" and closes with "</think>".',
    "2*[3] and x * [3] and f(x) = 2 * [1]",
    "2**3**4 and __init__ and f(**kw, **args)",
    "It needs calcium.\nSources:\n- milk\n- cheese",
    "Analysis of the final: none.",
]
ENDLESS = ["<think>\nPerhaps", "Yes.\n<reasoning>Perhaps", "<|channel|>analysis<|message|>Perhaps", "<THINK>Perhaps."]
COUNTED: list[tuple[str, list[str]]] = [
    ("| town | people |\n|---|---|\n| Tesk | 400 |", ["Tesk | 400"]),
    ("town | people\n:-- | --:\nTesk | 400", ["Tesk | 400"]),
    ("Run this:\n```sh\nls\n```\nIt lists the files.", ["It lists the files."]),
    ("It lists the files.\n~~~\nls -a\n~~~", ["It lists the files."]),
    ("It lists the files.\n```python\nprint(a[1])", ["It lists the files."]),
    ("## How to list all of the files\nUse ls.", ["Use ls."]),
    ("### 2. The files\nUse ls.", ["Use ls."]),
    ("## The bridge is green.\nYes", ["The bridge is green.", "Yes"]),
    ("# Lisbon", ["Lisbon"]),
    ("a | b is no table\nYes", ["a | b is no table", "Yes"]),
    ("**Width:**\nIt is 30 m wide [2].", ["It is 30 m wide."]),
    (
        "It costs **12 euros** [1][Source 2]. It opened in **1839**[2], or 1840[3].",
        ["It costs 12 euros.", "It opened in 1839, or 1840."],
    ),
]


def counting(text: str) -> list[str]:
    return [sentence.text for sentence in sentences_of(text, ENGLISH) if sentence.counts]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in SAID.items() for text in texts])
def test_what_is_around_a_sentence_is_left_out(kind: str, text: str) -> None:
    response = read_response(text)
    assert (response.said.strip(), response.kinds) == (BORN, (kind,))
    assert counting(response.said) == [BORN]


@pytest.mark.parametrize("text", UNCHANGED)
def test_what_only_looks_like_a_mark_stays(text: str) -> None:
    assert read_response(text).said == text
    assert counting(text)


@pytest.mark.parametrize("text", ENDLESS)
def test_a_thought_that_never_ends_makes_the_score_missing(text: str) -> None:
    rows = [{"response": text, "reference": BORN}, {"response": BORN, "reference": BORN}]
    results = RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows)
    first, second = results.scores["exact_match"]
    tag = text[text.index("<") : text.index(">") + 1]
    assert first.reason == f"no response in this row: a thought begins with {tag} and never ends"
    assert (second.value, results.summary()["exact_match"]["responses"]) == (1.0, {"thought that never ends": 1})


@pytest.mark.parametrize(("text", "sentences"), COUNTED)
def test_headings_heads_of_tables_and_code_do_not_count(text: str, sentences: list[str]) -> None:
    assert counting(read_response(text).said) == sentences


def test_nothing_but_a_thought_is_a_reason() -> None:
    [row] = load_dataset([{"response": "<think>Hm.</think>\n"}])
    assert row.missing(["response"]) == "no response in this row: nothing follows its thought"


def test_metrics_see_what_is_said_and_rows_keep_what_was_written(tmp_path: Path) -> None:
    text = f"<think>Hm.</think>{BORN[:-1]} [1]."
    rows: list[Any] = [{"response": text, "reference": BORN}, {"response": "Other.", "reference": BORN}]
    said = RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows, folder=tmp_path / "a")
    written = RAGEvaluator({"metrics": ["exact_match"], "responses": "as_written"}).evaluate(rows)
    assert [score.value for score in said.scores["exact_match"]] == [1.0, 0.0]
    assert [score.value for score in written.scores["exact_match"]] == [0.0, 0.0]
    assert said.rows()[0]["response"] == text
    assert said.summary()["exact_match"]["responses"] == {"citation mark": 1, "thought": 1}
    assert "responses" not in written.summary()["exact_match"]
    assert "|responses:as_written" in written.signatures["exact_match"]
    assert "responses" not in said.signatures["exact_match"]


SIGNS = "[1]|【2】|**|__|`|```|\n|\n\n|# |> |<think>|</think>|<sup>1</sup>|Source|(|)|a[1]|Tesk|.| |¹|\n|---|\n||é|桥"
PIECES = st.lists(st.sampled_from(SIGNS.split("|")), max_size=12).map("".join)
MARKS = "[]［］【】〔〕()（）<>*_`~#|†¹²³⁰⁴⁵⁶⁷⁸⁹◁▷\ue200\ue201"


@given(PIECES)
def test_the_pieces_of_a_response_are_its_text(text: str) -> None:
    response = read_response(text)
    assert "".join(piece.text for piece in response.pieces) == text
    shown = as_written([TextPart(response.said)], response)
    assert "".join(part.text for part in shown) == text


@given(st.text().filter(lambda text: not set(MARKS).intersection(text) and "analysis" not in text))
def test_a_text_without_any_mark_is_unchanged(text: str) -> None:
    response = read_response(text)
    assert (response.said, response.kinds) == (text, ())
    whole, as_it_is = (open_dataset([{"response": text}], responses=kind)[0] for kind in (None, "as_written"))
    assert whole == as_it_is
