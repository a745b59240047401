"""Servers that cut long prompts and answer all the same, with status 200: no score is made of half a prompt."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Json, ModelFolder
from fake_server import Fake, Verdict, ask, configuration, judge_of, reading, schema_of, serve, shortest, status
from transformers import AutoTokenizer

from rag_evaluator import JudgementError, ModelError, RAGEvaluator, check
from rag_evaluator.cli.main import main

pytestmark = [pytest.mark.models, pytest.mark.allow_hosts(["127.0.0.1"])]
SHORT = "Nolu Brak was born in Tesk. "
LONG = "Nolu Brak was born in Tesk. " * 400


def words_asked(fake: Fake) -> int:
    """How many times the server was asked for the hidden word."""
    return len([body for _, body, _ in fake.asked if '"word"' in json.dumps(body.get("response_format", ""))])


def row(text: str) -> Json:
    return {"user_input": "Where was Nolu Brak born?", "retrieved_contexts": [text]}


def tokens_of(folder: Path) -> Callable[[str], int]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_a_prompt_that_a_server_cuts_is_a_missing_score_and_short_ones_are_judged() -> None:
    with serve(content=reading, context=1500) as fake:
        settings = {"metrics": ["context_relevance"], "judge": {"engine": "server", "url": fake.url}}
        results = RAGEvaluator(settings).evaluate([row(SHORT), row(LONG)])
    short, long = results.scores["context_relevance"]
    assert short.value == 0.0
    assert long.missing and "num_ctx" in (long.reason or "") and "cuts long prompts" in (long.reason or "")


def test_a_server_that_reads_long_prompts_is_asked_for_few_words() -> None:
    prompts = [SHORT * (1 + 37 * n % 200) for n in range(200)]
    with serve(content=reading, context=10_000) as fake:
        judge = judge_of(fake)
        assert all(isinstance(answer, Verdict) for answer in ask(judge, *prompts))
        assert 2 <= words_asked(fake) <= 20  # about the logarithm of 200 rows
        assert "word" in judge.about["long_prompts"]


def test_a_text_of_many_tokens_in_few_characters_is_tried_by_itself() -> None:
    """The same number of characters is more tokens in Chinese or in figures than in English."""
    with serve(content=reading, context=2000, count=lambda text: sum(not ch.isascii() for ch in text)) as fake:
        fine, cut = ask(judge_of(fake), "Nolu Brak was born in Tesk. " * 100, "他出生于一座小城市。" * 260)
    assert isinstance(fine, Verdict)
    assert isinstance(cut, JudgementError)


def test_a_model_that_repeats_no_word_proves_nothing_and_the_program_says_so() -> None:
    with serve(context=1500) as fake:
        judge = judge_of(fake)
        assert isinstance(ask(judge, LONG)[0], Verdict)
        assert judge.about["long_prompts"].startswith("not checked")
        assert words_asked(fake) == 1


def test_a_server_s_own_refusal_of_a_long_prompt_is_the_reason() -> None:
    with serve(content=reading) as fake:
        judge = judge_of(fake)
        answer = fake.answer

        def refusing(path: str, body: Json) -> Any:
            return status(400, "the context is too long") if len(json.dumps(body)) > 4000 else answer(path, body)

        fake.answer = refusing  # type: ignore[method-assign]
        short, long = ask(judge, SHORT, LONG)
    assert isinstance(short, Verdict)
    assert "the context is too long" in str(long) and "num_ctx" not in str(long)


@pytest.mark.parametrize("spoilt", ['{"word": "other"}', ""], ids=["another word", "none at all"])
def test_one_wrong_or_empty_answer_of_a_sound_server_loses_no_score(spoilt: str) -> None:
    with serve(content=reading) as fake:
        judge = judge_of(fake)
        left = [spoilt]
        fake.content = lambda body: (
            left.pop() if left and list(schema_of(body)["properties"]) == ["word"] else reading(body)
        )
        assert all(isinstance(answer, Verdict) for answer in ask(judge, *(SHORT * times for times in (9, 10, 20))))
    assert not left


def test_a_model_that_repeats_words_of_short_prompts_only_is_not_tested_by_them_and_a_warning_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def weak(body: Json) -> str:
        return reading(body) if len(body["messages"][0]["content"]) < 2000 else shortest(schema_of(body))

    with serve(content=weak) as fake:
        judge = judge_of(fake)
        assert all(isinstance(answer, Verdict) for answer in ask(judge, SHORT, LONG, f"{LONG}?"))
        assert not asyncio.run(judge.inner.try_prompt(LONG))  # type: ignore[attr-defined]
    assert caplog.text.count("long prompts are not checked") == 1


COUNTED: dict[str, tuple[Json, int | None, bool]] = {  # of a model list, tokens that are kept -> whole
    "ollama, whole": ({}, None, True),
    "ollama, cut": ({}, 1500, False),
    "llama.cpp, whole": ({"meta": {"n_ctx": 9000}}, None, True),
    "llama.cpp, near its end": ({"meta": {"n_ctx": 3000, "n_ctx_train": 32768}}, None, True),
    "one that cuts to its window": ({"meta": {"n_ctx": 1500}}, 1500, False),
    "vllm, near its end": ({"max_model_len": 3000}, None, True),
    "a window that is no number": ({"max_model_len": "much", "meta": [1]}, None, True),
}


@pytest.mark.parametrize(("entry", "kept", "whole"), COUNTED.values(), ids=COUNTED)
def test_the_servers_own_counts_say_whether_a_prompt_is_cut_whatever_its_model_repeats(
    entry: Json, kept: int | None, whole: bool
) -> None:
    with serve(models=[{"id": "tiny", **entry}], context=kept, count=lambda text: len(text.split())) as fake:
        judge = judge_of(fake)
        short, long = ask(judge, SHORT, LONG)
        assert words_asked(fake) == 0 and "tokens" in judge.about["long_prompts"]
    assert isinstance(short, Verdict)
    assert isinstance(long, Verdict if whole else JudgementError)
    assert whole or re.search(r"cuts long prompts: it has read \d+ tokens .*num_ctx", str(long))


def test_a_count_that_does_not_grow_with_the_prompt_is_none() -> None:
    with serve(content=reading, context=1500, count=lambda text: 7) as fake:
        fake.context = None
        judge = judge_of(fake)
        assert isinstance(ask(judge, LONG)[0], Verdict)
        assert words_asked(fake) > 1


@pytest.mark.parametrize("lost", [0, 30], ids=["nothing", "a little"])
def test_with_the_tokenizer_the_tokens_that_were_read_are_compared_with_our_own_count(
    lost: int, model_folder: ModelFolder
) -> None:
    """Thirty tokens of thousands count: they may be the question."""
    folder = model_folder("llama-bytelevel")
    count = tokens_of(folder)
    with serve(content=reading, count=count) as fake:
        judge = judge_of(fake, model=str(folder))
        fake.count = lambda text: count(text) - (lost if len(text) > 5000 else 0)
        short, long = ask(judge, SHORT, LONG)
        assert words_asked(fake) == 0
    assert isinstance(short, Verdict)
    if lost:
        assert isinstance(long, JudgementError) and "num_ctx" in str(long)
        assert f"of {count(LONG.strip()) + 9} tokens" in str(long)
    else:
        assert isinstance(long, Verdict)


def test_templates_that_strip_a_prompt_or_add_the_schema_cut_nothing(model_folder: ModelFolder) -> None:
    folder = model_folder("llama-bytelevel")
    count = tokens_of(folder)
    with serve(content=reading, count=lambda text: count(text.strip())) as fake:
        judge = judge_of(fake, model=str(folder))
        assert isinstance(ask(judge, f"\n\n{LONG}\n\n\n")[0], Verdict)
        fake.count = lambda text: count(text.strip()) + 400
        assert isinstance(ask(judge, f"{LONG}?")[0], Verdict)


def test_a_tokenizer_that_is_not_that_of_the_served_model_is_refused(model_folder: ModelFolder) -> None:
    with serve(count=lambda text: len(text) // 3) as fake, pytest.raises(ModelError, match=r"judge\.model: its token"):
        judge_of(fake, model=str(model_folder("llama-bytelevel")))


def test_usage_of_zero_tokens_is_no_count(model_folder: ModelFolder) -> None:
    """Ollama told 0 of prompts that it had in its cache; then a word is asked for."""
    with serve(content=reading, context=1500) as fake:
        fake.count = None
        judge = judge_of(fake, model=str(model_folder("llama-bytelevel")))
        assert isinstance(ask(judge, LONG)[0], JudgementError)
        assert words_asked(fake) > 1


WINDOWS: dict[str, tuple[list[int], int | None, str, str, str]] = {
    "some are cut": ([1, 50, 300, 400], 1500, "", "warning", "^row 3, the longest row, .*num_ctx"),
    "none is cut": ([1, 400], 9000, "", "ok", "whole"),
    "some are refused": ([1, 400], None, "refuses", "warning", "^row 1, the longest row, .*the context is too long"),
    "nothing is known": ([1], None, "repeats nothing", "skipped", r"judge\.model"),
    "tokens are counted": ([1, 400], 3000, "counts", "warning", "^row 1"),
}


@pytest.mark.parametrize(("sizes", "context", "server", "state", "words"), WINDOWS.values(), ids=WINDOWS)
def test_check_says_before_the_run_whether_a_server_cuts_or_refuses_the_longest_row(
    sizes: list[int], context: int | None, server: str, state: str, words: str, model_folder: ModelFolder
) -> None:
    folder = model_folder("llama-bytelevel")
    with serve(context=context, count=tokens_of(folder) if server == "counts" else None) as fake:
        fake.content = fake.content if server == "repeats nothing" else reading
        answer = fake.answer
        fake.answer = lambda path, body: (  # type: ignore[method-assign]
            status(400, "the context is too long")
            if server == "refuses" and len(json.dumps(body)) > 9000
            else answer(path, body)
        )
        judge = {"engine": "server", "url": fake.url, **({"model": str(folder)} if server == "counts" else {})}
        rows = [row(SHORT * size) for size in sizes]
        report = check({"metrics": ["context_relevance"], "judge": judge}, data=rows)
        asked = words_asked(fake)
    [window] = [entry for entry in report.checks if entry.name == "window"]
    assert window.state == state and re.search(words, window.text), window.text
    assert asked < 16


NAMES = {  # asked -> (answered, whether it is the same)
    "equal": ("tiny", "tiny", True),
    "none is told": ("tiny", "", True),
    "another": ("tiny", "huge", False),
    "a longer name": ("gpt-4o", "gpt-4o-mini", False),
    "a dated snapshot": ("gpt-4o", "gpt-4o-2024-08-06", True),
    "another snapshot": ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
    "ollama's latest": ("qwen3", "qwen3:latest", True),
    "ollama's other size": ("qwen3:8b", "qwen3:32b", False),
    "ollama's quantisation": ("qwen3:8b", "qwen3:8b-q4_K_M", True),
    "without its organisation": ("Qwen/Qwen3-8B", "qwen3-8b", True),
    "another organisation": ("Qwen/Qwen3-8B", "someone/Qwen3-8B", False),
    "a path on windows": ("Qwen3-0.6B-GGUF", "C:\\\\models\\\\Qwen3-0.6B-Q4_0.gguf", True),
    "a path of another": ("Qwen3-0.6B-GGUF", "/models/Qwen3-4B-Q4_0.gguf", False),
}


@pytest.mark.parametrize(("asked", "answered", "same"), NAMES.values(), ids=NAMES)
def test_a_server_that_answers_with_another_model_is_refused(asked: str, answered: str, same: bool) -> None:
    with serve(models=[{"id": asked}], name=answered) as fake:
        if same:
            assert isinstance(ask(judge_of(fake), SHORT)[0], Verdict)
        else:
            with pytest.raises(ModelError, match=r"judge\.served_model.*answer") as caught:
                judge_of(fake)
            assert answered in str(caught.value) and asked in str(caught.value)


def test_a_model_that_is_exchanged_in_mid_run_stops_the_run(tmp_path: Path, capsys: Capture) -> None:
    with serve(content=reading, name="tiny") as fake:
        judge = {"engine": "server", "url": fake.url, "batch_size": 1}
        config = str(configuration(tmp_path, [row(f"{number} {SHORT}") for number in range(9)], judge))

        def exchanged(body: Json) -> str:
            fake.name = "huge" if "5 Nolu" in json.dumps(body) else fake.name
            return reading(body)

        fake.content = exchanged
        assert main([config]) == 75
        assert "huge" in capsys.readouterr().err
        assert main([config]) == 2
        fake.name = "tiny"
        fake.content = reading
        assert main([config]) == 0
