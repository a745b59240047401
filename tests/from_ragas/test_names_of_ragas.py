"""What of ragas has no counterpart is refused by its name; arguments that change nothing are named."""

import asyncio
import importlib
import json
import math
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import FakeListLLM
from langchain_core.language_models.llms import LLM
from openai import OpenAI
from pydantic import Field
from ragas.messages import HumanMessage
from ragas.metrics import DiscreteMetric, MetricType, MetricWithLLM, SingleTurnMetric

from rag_evaluator import (
    ConfigError,
    DatasetError,
    JudgementError,
    ModelError,
    RAGEvaluator,
    RagEvaluatorError,
    ScriptedJudge,
)
from rag_evaluator.config import make_config
from rag_evaluator.hub import unwrapped
from rag_evaluator.metrics import METRICS, canonical_name
from rag_evaluator.ragas import MODULES, EvaluationDataset, RunConfig, SingleTurnSample, aevaluate, evaluate
from rag_evaluator.ragas import metrics as ragas_metrics
from rag_evaluator.ragas.embeddings import embedding_factory
from rag_evaluator.ragas.evaluation import evaluator_of
from rag_evaluator.ragas.llms import LangchainLLMWrapper, llm_factory
from rag_evaluator.ragas.names import METRIC_CLASSES, OF_RAGAS, SINGLETONS, NoCounterpartError
from rag_evaluator.tasks import warned_once

ROW = {"user_input": "Where?", "retrieved_contexts": ["In Tesk."], "response": "In Tesk.", "reference": "Tesk."}
OTHERS = {"AspectCritic", "DistanceMeasure"}
DOCS = (Path(__file__).parents[2] / "docs" / "from-ragas.md").read_text("utf-8")
ROWS = re.findall(r"^\| (`[^|]*)", DOCS.partition("## What is not there")[2], re.MULTILINE)
NOT_HERE = re.findall(r"`(\w+)`", " ".join(ROWS))


def test_every_name_of_the_installed_ragas_is_a_metric_here_or_is_refused() -> None:
    known = {
        *METRIC_CLASSES,
        *SINGLETONS,
        *NOT_HERE,
        *OTHERS,
        *(name for names in OF_RAGAS.values() for name in names),
    }
    old = importlib.import_module("ragas.metrics")._DEPRECATED_METRICS
    new = importlib.import_module("ragas.metrics.collections").__all__
    assert {*old, *(name for name in new if name[0].isupper())} - known == set()


@pytest.mark.parametrize("module", ["llms", "embeddings"])
def test_every_model_of_the_installed_ragas_is_here_or_is_refused(module: str) -> None:
    here = importlib.import_module(f"rag_evaluator.ragas.{module}")
    names = {name for name in importlib.import_module(f"ragas.{module}").__all__ if name[0].isupper()}
    assert {name for name in names - {*NOT_HERE} if name not in vars(here)} <= {"InstructorTypeVar"}


@pytest.mark.parametrize("name", [*METRIC_CLASSES, *SINGLETONS])
def test_names_of_metrics_are_rows_of_the_table(name: str) -> None:
    made = getattr(ragas_metrics, name)
    metric = made() if isinstance(made, type) else made
    assert canonical_name(metric.name) in METRICS
    assert RAGEvaluator({"metrics": [metric]}).metrics.keys() == {canonical_name(metric.name)}


@pytest.mark.parametrize("module", ["metrics", "testset", "langchain"])
def test_what_has_no_counterpart_by_the_docs_is_refused(module: str) -> None:
    assert len(NOT_HERE) > 60
    for name in NOT_HERE:
        with pytest.raises(NoCounterpartError, match=f"{name} is not part of rag_evaluator"):
            exec(f"from rag_evaluator.ragas.{module} import {name}", {})


def test_chats_of_several_turns_are_refused() -> None:
    chat = {"user_input": [HumanMessage(content="Where?")]}
    with pytest.raises(DatasetError, match="row 0: a MultiTurnSample"):
        evaluate(EvaluationDataset.from_list([chat]), metrics=["exact_match"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"column_map": {"frage": "question"}}, "column_map: 'frage' is no column of ragas"),
        ({"column_map": {"question": "frage"}}, "maps 'frage' to 'user_input', but no row has a column 'frage'"),
        ({"metrics": [ragas_metrics.Faithfulness]}, r"metrics\[0\] is the class Faithfulness. Give an object"),
        (
            {"metrics": [ragas_metrics.ExactMatch(name="x"), ragas_metrics.StringPresence(name="x")]},
            r"metrics\[1\] has the name 'x', as another",
        ),
        ({"run_config": RunConfig(max_workers=0)}, "expected max_workers of 1 or more"),
        ({"metrics": []}, "expected a dataset and at least one metric"),
        ({"return_executor": True}, "there is no executor to cancel"),
    ],
)
def test_faults_are_named_before_anything_is_scored(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(RagEvaluatorError, match=message):
        evaluate([ROW], **{"metrics": ["exact_match"], **arguments})


@pytest.mark.parametrize(
    "script",
    [
        "Faithfulness().nli_statements_prompt = 1",
        "faithfulness.statement_prompt = 1",
        "class My(Faithfulness):\n    async def _single_turn_ascore(self, sample, callbacks):\n        return 0.1",
        "class My(LangchainLLMWrapper):\n    def generate_text(self, prompt):\n        return prompt",
    ],
)
def test_what_would_never_be_called_or_read_is_refused(script: str) -> None:
    with pytest.raises(ConfigError, match="would"):
        exec(
            script,
            {**{name: getattr(ragas_metrics, name) for name in NAMES}, "LangchainLLMWrapper": LangchainLLMWrapper},
        )


NAMES = ("Faithfulness", "faithfulness", "AspectCritic")


def test_models_and_the_name_of_the_scores_can_be_set_later() -> None:
    metric = ragas_metrics.Faithfulness()
    metric.llm = FakeListLLM(responses=["1"])
    metric.name = "mine"
    metric.max_retries = 3
    assert (metric.key, metric.name) == ("mine", "faithfulness")
    critic = ragas_metrics.AspectCritic("polite", "Is it polite?")
    critic.llm = metric.llm
    assert critic.llm is metric.llm
    with pytest.raises(ConfigError):
        critic.definition = "Is it long?"
    with pytest.raises(ConfigError):
        type("Own", (ragas_metrics.AspectCritic,), {})


def test_columns_may_have_names_of_ones_own() -> None:
    row = {"antwort": "Tesk.", "soll": "Tesk."}
    found = evaluate([row], metrics=["exact_match"], column_map={"answer": "antwort", "ground_truth": "soll"})
    assert found["exact_match"] == [1.0]


def test_options_that_would_be_left_out_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"AnswerCorrectness\(weights=...\)"):
        ragas_metrics.AnswerCorrectness(weights=[0.5, 0.5])
    with pytest.raises(ConfigError, match="It has verdicts, mode, beta, atomicity, coverage"):
        ragas_metrics.FactualCorrectness(language="spanish")
    with pytest.raises(ConfigError, match="mode"):
        evaluate([ROW], metrics=[ragas_metrics.FactualCorrectness(mode="f2")])
    with pytest.raises(ConfigError, match=r"SemanticSimilarity\(threshold=...\)"):
        ragas_metrics.SemanticSimilarity(threshold=0.8)
    assert ragas_metrics.AnswerCorrectness(weights=[0.75, 0.25], beta=1.0).key == "answer_correctness"
    assert ragas_metrics.ResponseRelevancy(strictness=5).options == {}


def test_arguments_that_change_nothing_are_named(caplog: pytest.LogCaptureFixture) -> None:
    evaluate([ROW], metrics=["exact_match"], callbacks=[print], run_config=RunConfig(max_retries=3))
    assert "evaluate: callbacks, run_config.max_retries: not used here" in caplog.text
    assert unwrapped(llm_factory("gpt-4o-mini")) is None
    assert "llm_factory('gpt-4o-mini'): no service is asked" in caplog.text
    assert embedding_factory() is None
    assert "embedding_factory: no service is asked" in caplog.text


def test_the_client_of_a_server_makes_the_engine_that_asks_it() -> None:
    llm = llm_factory("qwen", client=OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="sk-secret"))
    evaluator = evaluator_of([ragas_metrics.Faithfulness(llm=llm)], llm, None)
    judge = evaluator.judge.config
    assert (judge.engine, judge.url, judge.served_model) == ("server", "http://127.0.0.1:8000/v1/", "qwen")
    assert judge.key == "sk-secret"
    assert "sk-secret" not in f"{judge!r} {judge.model_dump()} {evaluator.config!r}"
    by_name: Any = llm_factory("qwen", base_url="http://127.0.0.1:1/v1")
    assert (by_name.config.url, by_name.config.key) == ("http://127.0.0.1:1/v1", "")


def test_another_host_is_refused_while_offline_and_named(caplog: pytest.LogCaptureFixture) -> None:
    llm = llm_factory("gpt-4o-mini", client=OpenAI(base_url="http://nowhere.invalid/v1", api_key="sk-secret"))
    with pytest.raises(ModelError, match=r"judge.url leads to nowhere.invalid, and .offline. is true") as refused:
        evaluate([ROW], metrics=[ragas_metrics.Faithfulness()], llm=llm)
    assert "sk-secret" not in f"{refused.value} {caplog.text}"


def test_metrics_made_with_ragas_ask_whatever_the_door_offers_as_llm() -> None:
    model = FakeListLLM(responses=['{"reason": "so", "value": "pass"}'])
    llm = LangchainLLMWrapper(model)
    assert tone().score(llm=llm, response="Hello.").value == "pass"
    assert asyncio.run(tone().ascore(llm=llm, response="Hello.")).value == "pass"
    server: Any = llm_factory("qwen", base_url="http://127.0.0.1:1/v1")
    server.model = RAGEvaluator({"metrics": ["faithfulness"]}, model).llm
    assert tone().score(llm=server, response="Hello.").value == "pass"


def test_settings_of_a_pipeline_that_are_not_read_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    inner = SimpleNamespace(model=None, tokenizer=None, _forward_params={"max_new_tokens": 64})
    pipeline = SimpleNamespace(pipeline=inner, pipeline_kwargs={"do_sample": True, "temperature": 0.7})
    warned_once.cache_clear()
    for _ in range(2):
        evaluator_of([ragas_metrics.Faithfulness()], pipeline, None)
    assert "max_new_tokens=64, temperature=0.7, do_sample=True: not used here." in caplog.text
    assert caplog.text.count("not used here") == 1


def scripted() -> ScriptedJudge:
    label = {"reason": "so", "label": 1}
    score = {"feedback": "so", "score": 2}
    return ScriptedJudge({"CustomOutput": label, "RubricScoreOutput": score})


CRITIC = {"name": "polite", "definition": "Is it polite?"}
TEXTS_OF_ROW = {name: ROW[name] for name in ("user_input", "response")}


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        (ROW, ["user_input", "response", "retrieved_contexts", "reference"]),
        (TEXTS_OF_ROW, ["user_input", "response"]),
        ({"response": "In Tesk."}, ["response"]),
    ],
)
def test_a_criterion_is_judged_by_all_columns_of_ragas_that_the_row_has(
    row: dict[str, Any], columns: list[str]
) -> None:
    judge = scripted()
    critic = ragas_metrics.AspectCritic(**CRITIC, llm=judge)
    assert evaluate([row], metrics=[critic])["polite"] == [1.0]
    asked = json.loads(judge.prompts[0].rpartition("\ninput: ")[2].removesuffix("\nOutput: "))
    assert list(asked["values"]) == columns


def test_rubrics_compare_with_the_reference_where_all_rows_have_one() -> None:
    rubrics = {"score1_description": "wrong", "score2_description": "right"}
    metric = ragas_metrics.RubricsScore(rubrics=rubrics, llm=scripted())
    for rows, kind in (([ROW], "with"), ([ROW, TEXTS_OF_ROW], "without")):
        result = evaluate(rows, metrics=[metric])
        assert result["domain_specific_rubrics"] == [2.0] * len(rows)
        assert f"metric:rubrics_score_{kind}_reference|" in f"{result.results.signatures['domain_specific_rubrics']}|"


@pytest.mark.parametrize(
    "metric",
    [
        ragas_metrics.AspectCritic(**CRITIC, llm=scripted()),
        ragas_metrics.RubricsScore(rubrics={"score1_description": "a", "score2_description": "b"}, llm=scripted()),
    ],
    ids=["AspectCritic", "RubricsScore"],
)
def test_criteria_and_rubrics_score_single_samples(metric: Any) -> None:
    sample = SingleTurnSample(**ROW)
    score = metric.single_turn_score(sample)
    assert score > 0
    assert asyncio.run(metric.single_turn_ascore(sample)) == asyncio.run(metric.ascore(**ROW)).value == score
    assert metric.score(TEXTS_OF_ROW) == score


@pytest.mark.parametrize(
    "line",
    [
        "from rag_evaluator.ragas.metrics._context_precision import LLMContextPrecisionWithReference",
        "from rag_evaluator.ragas.metrics.faithfulness import Faithfulness, faithfulness",
        "from rag_evaluator.ragas.llms.base import LangchainLLMWrapper, InstructorBaseRagasLLM",
        "from rag_evaluator.ragas.metrics.base import MetricWithLLM, SingleTurnMetric, MetricType",
        "from rag_evaluator.ragas.run_config import RunConfig",
        *(f"import rag_evaluator.ragas.{name}" for name in MODULES),
        "from rag_evaluator.ragas.evaluation import evaluate, aevaluate",
        "import rag_evaluator.ragas as ragas; ragas.metrics.faithfulness, ragas.llms.LangchainLLMWrapper",
    ],
)
def test_modules_of_ragas_have_their_names(line: str) -> None:
    exec(line, {})


def test_what_can_differ_from_an_earlier_ragas_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    warned_once.cache_clear()
    judge = ScriptedJudge([])
    for _ in range(2):
        metrics = [ragas_metrics.StringPresence(), ragas_metrics.ContextEntityRecall(llm=judge)]
        evaluate([ROW], metrics=metrics, experiment_name="mine / of today")
    assert caplog.text.count("Scored here by: context_entity_recall.") == 1


def test_seed_and_workers_of_a_run_config_count() -> None:
    from rag_evaluator.ragas.evaluation import _settings

    judge = _settings(None, None, None, RunConfig(seed=7, max_workers=3)).judge
    assert (judge.seed, judge.batch_size) == (7, 3)
    assert _settings(None, None, None, RunConfig()).judge.batch_size == "auto"


class Slow(LLM):
    """A model that counts how many questions are open, and answers late."""

    opened: list[int] = Field(default_factory=list)
    most: list[int] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "slow"

    def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **named: Any) -> str:
        self.opened.append(1)
        self.most.append(len(self.opened))
        time.sleep(0.02)
        self.opened.pop()
        return '{"reason": "so", "value": "pass"}'


def tone(**fields: Any) -> DiscreteMetric:
    return DiscreteMetric(
        **{"name": "tone", "prompt": "Polite? {response}", "allowed_values": ["pass", "fail"], **fields}
    )


def test_workers_bound_a_model_that_is_asked_over_a_network() -> None:
    model = Slow()
    rows = [{**ROW, "response": f"In Tesk {number}."} for number in range(8)]
    result = evaluate(rows, metrics=[tone()], llm=LangchainLLMWrapper(model), run_config=RunConfig(max_workers=2))
    assert result["tone"] == [1.0] * 8
    assert max(model.most) == 2


def test_a_missing_score_is_nan_with_a_reason_or_an_error_where_that_is_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    llm = FakeListLLM(responses=["no JSON"])
    result = evaluate([ROW], metrics=[tone(), "exact_match"], llm=llm)
    assert math.isnan(result["tone"][0])
    assert repr(result) == "{'tone': nan (0/1), 'exact_match': 0.0000 (1/1)}"
    assert "holds no JSON" in str(result.results.scores["tone"][0].reason)
    assert "tone: 1 of 1 scores are missing: the judge's answer holds no JSON: 'no JSON'" in caplog.text
    assert "exact_match: " not in caplog.text
    with pytest.raises(JudgementError, match="row 0, tone: the judge's answer holds no JSON"):
        evaluate([ROW], metrics=[tone()], llm=llm, raise_exceptions=True)


def test_a_result_is_read_as_that_of_ragas_0_2() -> None:
    metrics = {"metrics": ["exact_match", "string_present"]}  # those of the configuration, as none are given
    result = asyncio.run(aevaluate([ROW], config=metrics))
    assert result.scores == [{"exact_match": 0.0, "string_present": 1.0}]
    assert list(result.to_pandas().columns) == [
        "user_input", "retrieved_contexts", "response", "reference", "exact_match", "string_present",
    ]  # fmt: skip
    assert result.dataset[0].response == "In Tesk."


ANSWER = ['{"reason": "so", "value": "%s"}']


@pytest.mark.parametrize(
    ("allowed", "value", "number"),
    [
        (["pass", "fail"], "fail", 0.0),
        (["Yes", "No"], "Yes", 1.0),
        (["0", "1", "2"], "2", 2.0),
    ],
)
def test_words_of_a_discrete_metric_are_numbers_where_everybody_knows_the_better_one(
    allowed: list[str], value: str, number: float
) -> None:
    llm = FakeListLLM(responses=[ANSWER[0] % value])
    assert evaluate([ROW], metrics=[tone(allowed_values=allowed)], llm=llm)["tone"] == [number]


class Columns(MetricWithLLM, SingleTurnMetric):
    async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> float:
        return float(len(sample.reference or ""))


READS = {MetricType.SINGLE_TURN: {"response", "reference:optional"}}


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (tone(allowed_values=["calm", "angry"]), r"CustomMetric\('tone', question=..., columns=\[...\]"),
        (tone(prompt="Polite?"), "reads no column"),
        (Columns(name="columns"), "reads no column"),
    ],
)
def test_metrics_of_ones_own_that_cannot_be_scored_say_what_to_do(metric: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"'custom_metrics.{metric.name}.metric' is '{metric.name}'.*{message}"):
        RAGEvaluator({"metrics": [metric]})


def test_a_subclass_gets_optional_columns_and_its_range_from_allowed_values() -> None:
    length = Columns(name="length", _required_columns=READS)
    length.allowed_values = (0, 10)  # type: ignore[attr-defined]
    rows = [ROW, {"response": "In Tesk."}]
    results = RAGEvaluator({"metrics": [length]}, FakeListLLM(responses=["unused"])).evaluate(rows)
    assert [score.value for score in results.scores["length"]] == [5.0, 0.0]
    assert results.manifest["metrics"]["length"]["range"] == [0.0, 10.0]


def test_metrics_of_one_name_have_different_signatures() -> None:
    def signature(metric: Any) -> str:
        return RAGEvaluator({"metrics": [metric]}).signatures()["tone"]

    assert signature(tone()) == signature(tone())
    assert signature(tone()) != signature(tone(prompt="Kind? {response}"))
    assert signature(tone()) != signature(tone(allowed_values=["yes", "no"]))


def test_two_kinds_of_one_metric_need_two_runs() -> None:
    metrics = [ragas_metrics.RougeScore(mode="precision"), ragas_metrics.RougeScore(mode="recall")]
    with pytest.raises(ConfigError, match="A run scores a metric once"):
        RAGEvaluator({"metrics": metrics})
    result = evaluate([ROW], metrics=metrics)
    assert len(set(map(str, result.scores[0].values()))) == 2
    assert [line["metric"] for line in result.results.details()] == list(result.scores[0])


def test_a_configuration_can_name_an_object_of_a_module(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "from ragas.metrics import discrete_metric\n"
        "@discrete_metric(name='stop', allowed_values=['pass', 'fail'])\n"
        "def stop(response):\n    return 'pass' if response.endswith('.') else 'fail'\n"
        "number = 5\n"
    )
    (tmp_path / "metrics_of_mine.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    config = {"metrics": ["stop"], "custom_metrics": {"stop": {"metric": "metrics_of_mine:stop"}}}
    assert [score.value for score in RAGEvaluator(config).evaluate([ROW]).scores["stop"]] == [1.0]
    wrong = make_config({**config, "custom_metrics": {"stop": {"metric": "metrics_of_mine:number"}}})
    with pytest.raises(ConfigError, match=r"stop.metric' is 'metrics_of_mine:number', which is no metric"):
        RAGEvaluator(wrong)


@pytest.mark.parametrize("arguments", [("huggingface", "{folder}"), ("huggingface/{folder}",), ("{folder}",)])
def test_a_folder_named_in_embedding_factory_embeds(arguments: tuple[str, ...], tmp_path: Path) -> None:
    model = embedding_factory(*(text.format(folder=tmp_path) for text in arguments))
    evaluator = evaluator_of([ragas_metrics.SemanticSimilarity()], None, unwrapped(model))
    assert evaluator.config.embeddings.model == str(tmp_path)
