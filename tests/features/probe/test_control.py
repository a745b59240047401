"""The control: sentences that contexts of other rows support, by hand and for a verifier of a known specificity."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from known_verifier import KnownVerifier

from rag_evaluator import load_dataset, probe
from rag_evaluator.config import find_language
from rag_evaluator.features.probe.control import control_of
from rag_evaluator.features.probe.facts import normalised
from rag_evaluator.features.probe.figures import pairs_of
from rag_evaluator.results import VERIFIED
from rag_evaluator.run import Record
from rag_evaluator.verifiers import EvidencePiece, Support

SIZES = (1, 5, 10, 20)
SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu")
FALSE_SUPPORT = 0.1


def name_of(number: int) -> str:
    return "".join(SYLLABLES[number // 10**place % 10] for place in range(4)).capitalize()


def rows_of(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Rows with two facts of their own, both in the first of so many contexts."""
    rows = []
    for number, size in enumerate(sizes):
        first, *others = (name_of(41 * number + place) for place in range(4 + size))
        facts = f"{first} met {others[0]} in {others[1]}. {others[2]} left in 19{10 + number % 90}."
        fillers = [f"{other} sold fish." for other in others[4:]]
        columns = {"user_input": f"What did {first} do?", "response": f"{first}?", "reference": facts}
        rows.append({**columns, "retrieved_contexts": [facts, *fillers]})
    return rows


def chance(context: str, sentence: str) -> float:
    digest = hashlib.sha256(f"{context}\0{sentence}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


class Careless:
    """A verifier that supports what a context says, and one in ten of all other sentences; each context is a piece."""

    signature_parts: Mapping[str, str] = {"verifier": "careless"}

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        return [self._best(contexts, hypothesis) for hypothesis in hypotheses]

    @staticmethod
    def _best(contexts: Sequence[str], sentence: str) -> Support:
        values = [float(sentence in text or chance(text, sentence) < FALSE_SUPPORT) for text in contexts]
        place = values.index(max(values))
        return Support(values[place], EvidencePiece(contexts[place], (place,)), len(contexts), place)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "probe" / "rows.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["probe"] == "as_many_contexts"]


def test_the_control_of_a_verifier_is_what_its_specificity_makes_of_so_many_pieces(tmp_path: Path) -> None:
    rows = rows_of([size for size in SIZES for _ in range(25)])
    config = {"metrics": ["groundedness"], "probe": {"sample": len(rows)}}
    found = probe(config, rows, tmp_path, verifier=Careless())["control"]["groundedness"]
    assert [share["pieces"] for share in found["others"]] == ["all", "1", "2-5", "6-10", "more"]
    supported: dict[int, list[bool]] = {size: [] for size in SIZES}
    for line in lines_of(tmp_path):
        contexts = line["changed"]["retrieved_contexts"]
        sentences = re.findall(r"[^.]+\.", rows[line["row"]]["reference"])
        supported[len(contexts)] += [
            any(chance(text, sentence.strip()) < FALSE_SUPPORT for text in contexts) for sentence in sentences
        ]
    for share, size in zip(found["others"][1:], SIZES, strict=True):
        assert (share["rows"], share["n"]) == (25, 50)
        assert share["mean"] == pytest.approx(sum(supported[size]) / 50), "exact for these draws"
        assert share["ci_low"] <= 1 - (1 - FALSE_SUPPORT) ** size <= share["ci_high"]
    assert [share["mean"] for share in found["own"]] == [1.0] * 5


def test_contexts_of_other_rows_are_as_many_are_seeded_and_do_not_hold_the_answer() -> None:
    rows = rows_of([3, 4, 2, 5])
    rows[1]["retrieved_contexts"][1] = rows[0]["retrieved_contexts"][1]  # one that two rows share
    rows[2]["retrieved_contexts"][1] = rows[3]["reference"]  # one that holds another row's answer

    def made(seed: int) -> dict[int, list[str]]:
        pairs = pairs_of(load_dataset(rows), 10, find_language("english"), seed)[1]
        return {pair.row: pair.changed["retrieved_contexts"] for pair in pairs if pair.probe == "as_many_contexts"}

    drawn = made(0)
    assert {row: len(contexts) for row, contexts in drawn.items()} == {0: 3, 1: 4, 2: 2, 3: 5}
    for row, contexts in drawn.items():
        texts = list(map(normalised, contexts))
        assert len(set(texts)) == len(texts)
        assert set(texts).isdisjoint(map(normalised, rows[row]["retrieved_contexts"]))
        assert normalised(rows[row]["reference"]) not in texts
    owners = [row for row in (0, 1, 2) if set(drawn[3]) & set(rows[row]["retrieved_contexts"])]
    assert owners == [0, 1, 2], "one context of each other row in turn"
    assert made(0) == drawn != made(1)


def test_a_row_for_which_the_others_have_too_few_contexts_has_no_control() -> None:
    pairs = pairs_of(load_dataset(rows_of([1, 1, 3])), 10, find_language("english"), 0)[1]
    assert [pair.row for pair in pairs if pair.probe == "as_many_contexts"] == [0, 1]


def score(verdicts: Sequence[int], pieces: int) -> Record:
    said = {"sentences": [{"statement": "x", "verdict": verdict} for verdict in verdicts], "pieces": pieces}
    return Record(1.0, details={"judgements": [{"prompt": "other"}, {"prompt": VERIFIED, "response": said}]})


def test_shares_are_those_of_sentences_by_the_number_of_pieces_of_rows_with_both_scores() -> None:
    missing = Record(None, "too long")
    found = control_of(
        [
            ("0", score([1, 1, 0], 1), score([1, 0, 0], 1)),
            ("1", score([1], 2), score([1], 7)),
            ("2", score([1, 1], 2), missing),
            ("3", missing, score([1], 1)),
        ]
    )
    shares = {side: [(each["pieces"], each["rows"], each["n"], each["mean"]) for each in found[side]] for side in found}
    assert shares == {
        "own": [("all", 2, 4, 0.75), ("1", 1, 3, pytest.approx(2 / 3)), ("2-5", 1, 1, 1.0)],
        "others": [("all", 2, 4, 0.5), ("1", 1, 3, pytest.approx(1 / 3)), ("6-10", 1, 1, 1.0)],
    }
    assert "clustered" in found["own"][0]["ci_method"]
    assert control_of([("2", score([1, 1], 2), missing)]) == {}
    assert control_of([("4", Record(1.0, details={"judgements": []}), score([1], 1))]) == {}


def test_metrics_of_a_verifier_are_probed_and_those_of_contexts_have_a_control(tmp_path: Path) -> None:
    rows = rows_of([2, 3, 2])
    known = {
        (row["retrieved_contexts"][0], text): 0.9 for row in rows for text in re.findall(r"\w[^.]+\.", row["reference"])
    }
    metrics = ["groundedness", "context_coverage", "reference_coverage", "reference_agreement"]
    found = probe({"metrics": metrics}, rows, tmp_path, verifier=KnownVerifier(known))
    assert list(found["control"]) == metrics[:2]
    answers = ["other_answer", "changed_name", "same_text", "longer"]
    assert {metric: " ".join(cells) for metric, cells in found["metrics"].items()} == {
        "groundedness": "other_answer changed_name contradiction other_contexts as_many_contexts same_text",
        "context_coverage": "other_contexts as_many_contexts dropped_context same_text",
        "reference_coverage": " ".join(answers),
        "reference_agreement": " ".join(answers),
    }
    assert "As many contexts of other rows support 0 % [0, " in str(found)
