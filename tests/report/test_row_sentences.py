"""Sentences that a verifier, or the judge as one, judged: in the texts of a row, and one by one with their evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from known_verifier import KNOWN, ROW, KnownVerifier
from report.made_files import made_run
from test_row import find, parsed, section, texts

from rag_evaluator import RAGEvaluator
from rag_evaluator.metrics import SUPPORT
from rag_evaluator.report import row_html
from rag_evaluator.results import Run
from rag_evaluator.verifiers import Support

ALL = list(SUPPORT)


class Flagging(KnownVerifier):
    """Flags parts of one sentence: start, end, probability."""

    def __init__(self, sentence: str, *spans: tuple[int, int, float]) -> None:
        super().__init__(KNOWN)
        self.sentence = sentence
        self.spans = spans

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        made = super().supports(contexts, hypotheses, question)
        return [
            replace(support, spans=self.spans) if hypothesis == self.sentence else support
            for support, hypothesis in zip(made, hypotheses, strict=True)
        ]


def scored(folder: Path, verifier: Any = None, row: Mapping[str, Any] = ROW, judge: Any = None, **config: Any) -> Run:
    model = None if judge else verifier or KnownVerifier(KNOWN)
    evaluator = RAGEvaluator({"metrics": ["groundedness"], **config}, judge=judge, verifier=model)
    evaluator.evaluate([dict(row)], folder=folder)
    return Run(folder)


def test_sentences_stand_lowest_first_with_sign_word_probability_and_a_link_to_their_context(tmp_path: Path) -> None:
    article = parsed(row_html(scored(tmp_path / "run"), 0))
    shown = section(article, "groundedness")
    assert texts(shown, ".sentence .badge") == [
        "✗ not supported",
        "✓ supported",
        "✓ supported",
        "• not counted: question",
    ]
    tones = [found.get("class")[-1] for found in find(shown, ".sentence")]
    assert tones == ["bad", "good", "good", "plain"]
    assert texts(shown, ".statement") == [
        "He wrote six books.",
        "It lies on the Om.",
        "He was born in Tesk.",
        "Is that near?",
    ]
    assert texts(shown, ".confidence") == [
        f"Probability that it is supported: {share}" for share in ("20%", "60%", "90%")
    ]
    assert texts(shown, ".from") == [
        "Sentence 4; best evidence: context 1; piece 1 of 2",
        "Sentence 3; evidence: context 2; piece 2 of 2",
        "Sentence 1; evidence: context 1; piece 1 of 2",
        "Sentence 2",
    ]
    links = [link.get("data-section") for link in find(shown, ".from > a")]
    assert [texts(article.find(id=link), ".data") for link in links] == [
        [ROW["retrieved_contexts"][place]] for place in (0, 1, 0)
    ]
    assert texts(article, ".judged > h3") == ["What the verifier said"]


def test_the_sentences_are_marked_in_their_text_in_its_order(tmp_path: Path) -> None:
    article = parsed(row_html(scored(tmp_path / "run", metrics=ALL), 0))
    assert all(texts(section(article, name), ".statement") for name in ALL)
    [response] = find(article, "section.response")
    assert texts(response, ".data") == [
        "Sentence 1, supported: ✓1He was born in Tesk. Sentence 2, not counted: question: •2Is that near? "
        "Sentence 3, supported: ✓3It lies on the Om. Sentence 4, not supported: ✗4He wrote six books."
    ]
    assert "".join(texts(response, ".in-sentence.bad")).replace(" ", "") == "Hewrotesixbooks."
    assert texts(response, ".legend") == ["Sentences by groundedness: ✓ supported ✗ not supported • not counted"]
    assert texts(article, ".reference .legend") == ["Sentences by context_coverage: ✓ in the contexts"]
    last = find(response, "a.sentence-sign")[-1]
    assert texts(article.find(id=last.get("data-section")), ".statement") == ["He wrote six books."]


def test_flagged_parts_are_underlined_in_the_text_and_in_the_sentence(tmp_path: Path) -> None:
    flagging = Flagging("He wrote six books.", (3, 8, 0.82), (9, 18, 0.999), (10, 12, 0.9), (0, 99, 0.9))
    article = parsed(row_html(scored(tmp_path / "run", flagging), 0))
    for place in (".response mark", ".statement > mark"):
        assert texts(article, place) == ["wrote", "six books"]
        assert [mark.get("title") for mark in find(article, place)] == ["not supported: 82%", "not supported: >99%"]
    assert "Flagged: wrote 82%, six books >99%" in texts(article, ".from")


def test_hostile_sentences_stay_text(tmp_path: Path) -> None:
    attack = "<img src=x onerror=alert(1)> & \"'</div> is here."
    row = {**ROW, "response": f"{attack} He was born in Tesk.", "reference": attack}
    run = scored(tmp_path / "run", Flagging(attack, (0, 28, 0.9)), row, metrics=ALL)
    article = parsed(row_html(run, 0))
    assert find(article, "img") == []
    assert attack in texts(article, ".statement")
    assert texts(article, ".response mark") == [attack[:28]]


def test_sentences_that_are_not_in_the_text_come_last_and_mark_nothing(tmp_path: Path) -> None:
    sentences = [{"statement": text, "verdict": 1, "probability": 0.9} for text in ("Here.", "Here.", "Elsewhere.")]
    judgement = {"prompt": "verifier", "input": {}, "response": {"sentences": sentences, "pieces": 1}}
    line = {"row": 0, "sample": "0", "metric": "groundedness", "value": 1.0, "judgements": [judgement]}
    rows = [{"user_input": "Where?", "response": "Here. Here. End.", "reference": "Here."}]
    run = Run(made_run(tmp_path / "run", {"groundedness": [1.0]}, rows=rows, details=[line]))
    article = parsed(row_html(run, 0))
    assert texts(section(article, "groundedness"), ".statement") == ["Here.", "Here.", "Elsewhere."]
    [response] = find(article, "section.response")
    assert texts(response, ".in-sentence") == ["Here.", "Here."]
    assert texts(response, "ins") == ["Here.", "End."]  # one change, in a sentence and behind it
