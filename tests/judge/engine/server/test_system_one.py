"""`verifier: {url, model}` against a small server of the documented form of `/v1/systemone`, not against a model.

`tests/real/test_vllm_system_one.py` asks a real one.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from fake_server import Fake, serve, status
from folders import lines_of, results_of, write_config

from rag_evaluator import ConfigError, JudgeLostError, ModelError, RAGEvaluator, check
from rag_evaluator.cli.main import main

pytestmark = [pytest.mark.models, pytest.mark.allow_hosts(["127.0.0.1"])]
ROW: Json = {
    "user_input": "When did the bridge open?",
    "retrieved_contexts": ["The bridge opened in 1921.", "It has arches."],
    "response": "The bridge opened in 1921. It has nine lamps.",
}
LONG = {**ROW, "retrieved_contexts": ["The old bridge of Harn has three arches and two towers. " * 30]}


class Served:
    """Answers of the documented form: the share of a sentence's words that the state has.

    Attributes:
        known: words of a state, and of a question, that are read; the others are cut without a word.
        name: of the model.
        change: what is done to a good answer.
    """

    def __init__(self, fake: Fake) -> None:
        self.fake = fake
        self.known = 10_000
        self.name = "small-1.2"
        self.change: Any = None
        fake.answer = self.answer  # type: ignore[method-assign]

    def answer(self, path: str, body: Json) -> Any:
        if path != "/v1/systemone":
            return status(404, "no such route")
        if self.fake.always or len(body["questions"]) > 64:
            return self.fake.always or status(400, "at most 64 questions")
        state = body["state"].split()[: self.known]
        texts = {key: each["instructions"].split()[: self.known] for key, each in body["questions"].items()}
        sentences = {key: text[6:] for key, text in texts.items()}
        shares = {key: sum(word in state for word in text) / len(text) for key, text in sentences.items()}
        answer: Json = {
            "model": self.name,
            "answers": {key: {"type": "noul", "noul": share} for key, share in shares.items()},
            "usage": {"input_tokens": sum(9 + len(state) + len(text) for text in texts.values()), "output_tokens": 0},
        }
        if self.change:
            self.change(answer)
        return status(200, json.dumps(answer))

    def evaluator(self, **verifier: Any) -> RAGEvaluator:
        settings = {"url": self.fake.url.removesuffix("/v1"), "model": "small", **verifier}
        return RAGEvaluator({"metrics": ["groundedness"], "verifier": settings})


@pytest.fixture
def served() -> Iterator[Served]:
    with serve() as fake:
        yield Served(fake)


def score_of(evaluator: RAGEvaluator, row: Json = ROW) -> Any:
    return evaluator.evaluate([row]).scores["groundedness"][0]


def test_the_sentences_of_a_row_are_asked_together_and_the_signature_names_who_answers(served: Served) -> None:
    evaluator = served.evaluator()
    line = evaluator.signatures()["groundedness"]
    assert "|verifier:served:small-1.2-" in line and "|kind:systemone|evidence:packed-1000" in line
    assert "127.0.0.1" not in line and "|judge" not in line
    score = score_of(evaluator)
    assert [each["probability"] for each in score.judgements[0]["response"]["sentences"]] == [1.0, 0.5]
    _, body, _ = served.fake.asked[-1]
    assert (body["model"], body["state"]) == ("small", "\n".join(ROW["retrieved_contexts"]))
    assert [each["type"] for each in body["questions"].values()] == ["noul", "noul"]
    assert "nine lamps" in body["questions"]["1"]["instructions"]


def test_more_than_64_sentences_are_asked_in_several_requests(served: Served) -> None:
    response = " ".join(f"It has {number} lamps." for number in range(70))
    score = score_of(served.evaluator(), {**ROW, "response": response})
    assert len(score.judgements[0]["response"]["sentences"]) == 70
    assert [len(body["questions"]) for _, body, _ in served.fake.asked[-2:]] == [64, 6]


def test_the_best_piece_counts_and_each_names_its_context(served: Served) -> None:
    sentences = score_of(served.evaluator(evidence="each")).judgements[0]["response"]["sentences"]
    assert [each["contexts"] for each in sentences] == [[0], [1]]
    assert score_of(served.evaluator(piece=40), LONG).outcome == "15 pieces of evidence"


@pytest.mark.parametrize("row", [LONG, {**ROW, "response": f"It has {'nine ' * 300}lamps."}], ids=["state", "question"])
def test_a_text_that_the_server_cuts_has_no_score_and_smaller_pieces_have_one(served: Served, row: Json) -> None:
    served.known = 200
    score = score_of(served.evaluator(), row)
    assert score.missing and "the server cuts long prompts" in score.reason and "verifier.piece" in score.reason
    assert score_of(served.evaluator(piece=100), row).missing is (row is not LONG)


ANSWERS: dict[str, tuple[Any, str]] = {
    "one is missing": (lambda answer: answer["answers"].pop("0"), "gave 0 of 1 answers"),
    "above 1": (lambda answer: answer["answers"]["0"].update(noul=1.5), r"answers\.0\.noul: .*less than or equal to 1"),
    "below 0": (lambda answer: answer["answers"]["0"].update(noul=-0.1), "greater than or equal to 0"),
    "NaN": (lambda answer: answer["answers"]["0"].update(noul=float("nan")), "finite number"),
    "a truth value": (lambda answer: answer["answers"]["0"].update(noul=True), "valid number"),
    "another type": (lambda answer: answer["answers"]["0"].pop("noul"), r"answers\.0\.noul: Field required"),
    "none": (lambda answer: answer.pop("answers"), "answers: Field required"),
    "a list": (lambda answer: answer.update(answers=[0.5]), "answers: .*dictionary"),
    "no count of tokens": (lambda answer: answer.pop("usage"), "usage.input_tokens"),
    "the same count always": (lambda answer: answer.update(usage={"input_tokens": 7}), "usage.input_tokens"),
}


@pytest.mark.parametrize(("change", "named"), ANSWERS.values(), ids=ANSWERS)
def test_a_wrong_answer_is_refused_before_a_run_and_no_score_within_one(
    served: Served, change: Any, named: str
) -> None:
    served.change = change
    with pytest.raises(ModelError, match=rf"verifier\.url: .*{named}"):
        served.evaluator().signatures()
    served.change = None
    evaluator = served.evaluator()
    evaluator.signatures()
    served.change = change
    score = score_of(evaluator)
    assert score.missing is ("usage" not in named), score.reason


def test_another_model_within_a_run_stops_it(served: Served) -> None:
    evaluator = served.evaluator()
    evaluator.signatures()
    served.name = "large-1.0"
    with pytest.raises(JudgeLostError, match=r"verifier\.model: first 'small-1\.2' answered, now 'large-1\.0'"):
        score_of(evaluator)


def test_a_lost_server_leaves_what_is_scored_and_the_run_goes_on_later(served: Served, tmp_path: Path) -> None:
    rows = [{**ROW, "user_input": f"Question {number}?"} for number in range(3)]
    text = f"metrics: [groundedness]\nchunk_size: 1\nverifier: {{url: '{served.fake.url}', model: small}}\n"
    config = write_config(tmp_path, rows, text)
    answered: list[int] = []

    def lose(answer: Json) -> None:
        answered.append(len(answer["answers"]))
        served.fake.always = status(503) if answered.count(2) == 2 else None

    served.change = lose
    assert main([str(config)]) == 75
    served.fake.always = None
    served.change = lambda answer: answered.append(len(answer["answers"]))
    assert main([str(config)]) == 0
    assert answered.count(2) == 3 and len(lines_of(results_of(config) / "scores.jsonl")) == 3


SETTINGS: dict[str, tuple[Json, str]] = {
    "no model": ({"model": "judge"}, r"'verifier\.model' is missing: give the name"),
    "a kind": ({"kind": "nli"}, r"'verifier\.kind' does not apply where 'verifier\.url' is set"),
    "a key without a server": (
        {"url": None, "api_key_env": "KEY"},
        r"'verifier\.api_key_env' does not apply .*not set",
    ),
    "a foreign host": ({"url": "http://gpu-host:8000"}, r"verifier\.url leads to gpu-host.*offline: false"),
    "no address": ({"url": "gpu-host"}, r"verifier\.url is 'gpu-host': expected an address"),
    "no server": (
        {"url": "http://127.0.0.1:9"},
        r"verifier\.url: no server can be used: 127\.0\.0\.1:9 gave no answer",
    ),
    "another route": ({"url": "/v2"}, r"verifier\.url: no server .*answer /systemone, status 404: no such route"),
    "no key": ({"api_key_env": "NO_SUCH_KEY"}, r"verifier\.api_key_env: the environment variable NO_SUCH_KEY"),
}


@pytest.mark.parametrize(("settings", "named"), SETTINGS.values(), ids=SETTINGS)
def test_what_is_wrong_is_refused_with_its_key_before_a_row_is_scored(
    served: Served, settings: Json, named: str
) -> None:
    if settings.get("url") == "/v2":
        settings = {"url": served.fake.url.replace("/v1", "/v2")}
    with pytest.raises((ConfigError, ModelError), match=named):
        served.evaluator(**settings).signatures()


def test_check_asks_the_server_and_the_name_of_a_model_is_no_path(served: Served, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    text = f"metrics: [groundedness]\nverifier: {{url: '{served.fake.url}', model: small}}\n"
    config = write_config(tmp_path, [ROW], text)
    (entry,) = [entry for entry in check(config).checks if entry.name == "verifier"]
    assert entry.state == "ok" and entry.text.startswith("small-1.2, which a server answers for at 127.0.0.1")
    assert served.fake.asked[0][1]["model"] == "small"
    served.fake.always = status(501, "This model is not a decision model")
    (entry,) = [entry for entry in check(config).checks if entry.name == "verifier"]
    assert entry.state == "failed" and "This model is not a decision model" in entry.text
