"""The control: sentences that contexts of other rows support, by hand and for a verifier of a known specificity."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from known_verifier import KnownVerifier
from probed_rows import changed_rows, kept_in, normalised

from rag_evaluator import JudgementError, probe
from rag_evaluator.verifiers import EvidencePiece, Support

SIZES = (1, 5, 10, 20)
SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu")
FALSE_SUPPORT = 0.1
AS_MANY = "as_many_contexts"


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


def test_the_control_of_a_verifier_is_what_its_specificity_makes_of_so_many_pieces(tmp_path: Path) -> None:
    rows = rows_of([size for size in SIZES for _ in range(25)])
    config = {"metrics": ["groundedness"], "probe": {"sample": len(rows)}}
    found = probe(config, rows, tmp_path, verifier=Careless())["control"]["groundedness"]
    assert [share["pieces"] for share in found["others"]] == ["all", "1", "2-5", "6-10", "more"]
    supported: dict[int, list[bool]] = {size: [] for size in SIZES}
    for line in kept_in(tmp_path, AS_MANY):
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


def test_contexts_of_other_rows_are_as_many_are_seeded_and_do_not_hold_the_answer(tmp_path: Path) -> None:
    rows = rows_of([3, 4, 2, 5])
    rows[1]["retrieved_contexts"][1] = rows[0]["retrieved_contexts"][1]  # one that two rows share
    rows[2]["retrieved_contexts"][1] = rows[3]["reference"]  # one that holds another row's answer

    def made(name: str, seed: int) -> dict[int, list[str]]:
        lines = changed_rows(tmp_path / name, rows, seed=seed)
        return {line["row"]: line["changed"]["retrieved_contexts"] for line in lines if line["probe"] == AS_MANY}

    drawn = made("a", 0)
    assert {row: len(contexts) for row, contexts in drawn.items()} == {0: 3, 1: 4, 2: 2, 3: 5}
    for row, contexts in drawn.items():
        texts = list(map(normalised, contexts))
        assert len(set(texts)) == len(texts)
        assert set(texts).isdisjoint(map(normalised, rows[row]["retrieved_contexts"]))
        assert normalised(rows[row]["reference"]) not in texts
    owners = [row for row in (0, 1, 2) if set(drawn[3]) & set(rows[row]["retrieved_contexts"])]
    assert owners == [0, 1, 2], "one context of each other row in turn"
    assert made("b", 0) == drawn != made("c", 1)


def test_a_row_for_which_the_others_have_too_few_contexts_has_no_control(tmp_path: Path) -> None:
    lines = changed_rows(tmp_path, rows_of([1, 1, 3]))
    assert [line["row"] for line in lines if line["probe"] == AS_MANY] == [0, 1]


class Failing(Careless):
    """It says nothing of the sentences of one row."""

    def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        if any(name_of(0) in text for text in hypotheses):
            raise JudgementError("nothing to say")
        return super().supports(contexts, hypotheses, question)


def test_a_row_without_a_score_is_not_in_the_control(tmp_path: Path) -> None:
    found = probe({"metrics": ["groundedness"]}, rows_of([2, 2, 2]), tmp_path, verifier=Failing())["control"]
    [whole, pieces] = found["groundedness"]["own"]
    assert (whole["rows"], whole["n"], whole["mean"], pieces["pieces"]) == (2, 4, 1.0, "2-5")
    assert "clustered" in whole["ci_method"]


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
