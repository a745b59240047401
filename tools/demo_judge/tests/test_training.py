"""Training rows of the demo judge are reproducible and right, its loss weighs verdicts, its card gets the figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from ragas.metrics.collections.answer_correctness.util import (
    ClassificationWithReason,
    CorrectnessClassifierInput,
    StatementsWithReason,
)
from ragas.metrics.collections.context_relevance.util import ContextRelevanceInput, ContextRelevanceOutput
from ragas.metrics.collections.faithfulness.util import StatementGeneratorInput, StatementGeneratorOutput

from rag_evaluator.demo import DEMO_JUDGE
from tools.demo_judge.batches import VERDICT_WEIGHT, cut, token_weights
from tools.demo_judge.evaluate import measure, write_card
from tools.demo_judge.languages import World
from tools.demo_judge.separation import auc
from tools.demo_judge.tasks import LANGUAGES, TASKS, Row, Task, prompts, row

ROOT = Path(__file__).parents[3]
PROMPTED = [task for task in TASKS if task.prompts]


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(DEMO_JUDGE)


def world(seed: int, difficulty: float = 1.0, language: str = "english") -> World:
    return World(Random(seed), difficulty, LANGUAGES[language])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_same_seed_gives_the_same_rows(task: Task, language: str) -> None:
    assert row(task, world(5, 1.0, language)) == row(task, world(5, 1.0, language))
    assert row(task, world(5, 1.0, language)) != row(task, world(6, 1.0, language))


@pytest.mark.parametrize("task", PROMPTED, ids=lambda task: task.name)
def test_a_row_is_the_prompt_of_the_project_and_its_answer_in_the_layout_of_the_examples(task: Task) -> None:
    made = row(task, world(7, 0.5))
    sent = [prompt.to_string(made.asked).rstrip() for prompt in prompts(task, "english")]
    assert made.head + made.body in sent
    assert made.body.endswith("}\nOutput:")
    assert made.answer == " " + made.wanted.model_dump_json(indent=4)
    assert type(made.wanted).model_validate_json(made.answer) == made.wanted


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("task", PROMPTED, ids=lambda task: task.name)
def test_prompt_and_answer_are_cut_into_tokens_apart_as_together(tokenizer, task: Task, language: str) -> None:
    made = row(task, world(3, 1.0, language))
    ids = [tokenizer.bos_token_id]
    for text in (made.head, made.body, made.answer):
        ids += tokenizer(text, add_special_tokens=False).input_ids
    assert tokenizer(made.head + made.body + made.answer).input_ids == ids


@pytest.mark.parametrize(("language", "before", "between"), [("english", " says ", ", the statement "),
                                                             ("spanish", " dice ", ", la afirmación ")])  # fmt: skip
def test_a_contradicted_statement_gets_verdict_0_and_a_repeated_one_1(language: str, before: str, between: str) -> None:
    nli = next(task for task in TASKS if task.name == "nli")
    seen = set()
    for seed in range(80):
        for judged in json.loads(row(nli, world(seed, 1.0, language)).answer)["statements"]:
            if between in judged["reason"]:
                said, _, claimed = judged["reason"].partition(before)[2].rstrip(".").partition(between)
                assert judged["verdict"] == int(said == claimed)
                seen.add(judged["verdict"])
    assert seen == {0, 1}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_phrase_is_said_if_the_text_has_it(language: str) -> None:
    phrases = next(task for task in TASKS if task.name == "phrases")
    for seed in range(30):
        made = row(phrases, world(seed, 0.5, language))
        for judged in made.wanted.statements:
            assert judged.verdict == int(judged.statement in made.asked.context)
            assert judged.reason == LANGUAGES[language].said[judged.verdict == 1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_better_context_holds_the_answer_and_the_other_does_not(language: str) -> None:
    answer, compare = (next(task for task in TASKS if task.name == name) for name in ("answer", "compare"))
    for seed in range(30):
        made = row(answer, world(seed, 0.5, language))
        if made.wanted.answerable:
            assert any(made.wanted.answer in text for text in made.asked.contexts)
        else:
            assert made.wanted.answer == ""
    assert {row(compare, world(seed, 0.5, language)).wanted.choice for seed in range(30)} == {1, 2}


def test_what_the_loss_weighs_most_are_verdicts_and_the_values_before_them(tokenizer) -> None:
    nli = next(task for task in TASKS if task.name == "dense_nli")
    made = row(nli, world(1, 0.5))
    answer = cut(made.answer, tokenizer)
    ids, weights = [*answer.ids, tokenizer.eos_token_id], token_weights(made, answer)
    heavy = [tokenizer.decode([token]) for token, weight in zip(ids, weights, strict=True) if weight == VERDICT_WEIGHT]
    assert heavy == [str(judged.verdict) for judged in made.wanted.statements]
    assert tokenizer.decode([t for t, w in zip(ids, weights, strict=True) if w == 0]) == "".join(
        judged.statement for judged in made.wanted.statements
    )


def measured(task_name: str, asked, wanted, given):
    task = next(task for task in TASKS if task.name == task_name)
    rows = [Row(task_name, "", "", "", one, other) for one, other in zip(asked, wanted, strict=True)]
    return measure(task, "english", rows, given)


def test_wrong_verdicts_and_missing_answers_count_as_wrong() -> None:
    asked = [ContextRelevanceInput(user_input="q", context="c")] * 4
    wanted = [ContextRelevanceOutput(rating=rating) for rating in (2, 2, 2, 0)]
    given = [ContextRelevanceOutput(rating=rating) for rating in (2, 1, 2)] + [None]
    found = measured("rating", asked, wanted, given)
    assert (found.rows, found.unanswered, found.decisions, found.majority, found.texts) == (4, 1, 0.5, 0.75, None)


def test_statements_are_measured_by_their_number_and_to_the_letter() -> None:
    asked = [StatementGeneratorInput(question="q", answer="a")] * 2
    wanted = [StatementGeneratorOutput(statements=["A is B.", "C is D."])] * 2
    given = [
        StatementGeneratorOutput(statements=["A is B.", "C is E."]),
        StatementGeneratorOutput(statements=["A is B."]),
    ]
    found = measured("statements", asked, wanted, given)
    assert (found.lists, found.texts, found.decisions) == (0.5, 0.5, None)


def test_a_statement_in_the_wrong_group_is_a_wrong_decision() -> None:
    def groups(tp: str, fp: str, fn: str) -> ClassificationWithReason:
        made = [[StatementsWithReason(statement=text, reason="r") for text in some] for some in (tp, fp, fn)]
        return ClassificationWithReason(TP=made[0], FP=made[1], FN=made[2])

    asked = CorrectnessClassifierInput(question="q", answer=["a", "b"], ground_truth=["c", "d"])
    found = measured("classified", [asked], [groups("a", "b", "c")], [groups("ab", "", "c")])
    assert found.decisions == 0.75


def test_the_card_gets_the_new_table_in_place_of_the_old_one(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text("before\n\n| task | x |\n|---|---|\n| nli | 1 |\n\nafter\n", encoding="utf-8")
    write_card("| task | y |\n|---|---|", card)
    assert card.read_text(encoding="utf-8") == "before\n\n| task | y |\n|---|---|\n\nafter\n"
    card.write_text("no table\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no table"):
        write_card("| task | y |", card)


def test_auc_is_the_chance_that_a_positive_scores_above_a_negative() -> None:
    assert auc([1.0, 0.5], [0.5, 0.0]) == (1 + 1 + 0.5 + 1) / 4
    assert auc([0.0], [1.0]) == 0.0


def test_logits_under_a_shared_head_are_those_of_the_whole_text(tokenizer) -> None:
    import torch

    from tools.demo_judge.batches import Batch
    from tools.demo_judge.model import build_model, seen

    model = build_model(tokenizer, seed=0).eval()
    rows = torch.randint(3, 4000, (3, 12), generator=torch.Generator().manual_seed(0))
    weights = torch.ones(3, 12)
    for length in (1, 20):
        head = torch.arange(length)
        places = torch.arange(length, length + 12).expand(3, 12)
        whole = torch.cat([head.expand(3, length), rows], dim=1)
        with torch.inference_mode():
            shared = seen(model, Batch(head, rows, places, weights, torch.zeros(0, 4, dtype=int), 0)).logits
            expected = model(whole).logits[:, length:-1].reshape(33, -1)
        torch.testing.assert_close(shared, expected, atol=1e-4, rtol=1e-4)


def test_a_fresh_model_already_copies_random_tokens(tokenizer) -> None:
    import torch

    from tools.demo_judge.model import build_model

    model = build_model(tokenizer, seed=0).eval()
    tokens = torch.randint(3, 4000, (2, 60), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        guessed = model(torch.cat([tokens, tokens], dim=1)).logits[:, 60:-1].argmax(-1)
    assert (guessed == tokens[:, 1:]).float().mean() > 0.5


@pytest.mark.slow  # starts six interpreters
def test_training_in_two_processes_saves_a_judge_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    checkpoint, out = tmp_path / "checkpoint.pt", tmp_path / "judge"
    command = [sys.executable, "-m", "tools.demo_judge.train", "--out", str(out), "--checkpoint", str(checkpoint)]
    command += ["--processes", "2", "--step-tokens", "100", "--tokens"]
    subprocess.run([*command, "1"], cwd=ROOT, check=True, capture_output=True)
    tokens, _, steps, _ = torch.load(checkpoint, weights_only=False)["done"]
    assert steps == 1 and tokens >= 200  # of both processes
    subprocess.run([*command, str(tokens + 1)], cwd=ROOT, check=True, capture_output=True)
    state = torch.load(checkpoint, weights_only=False)
    assert state["done"][0] > tokens and state["done"][2] == 2
    saved = AutoModelForCausalLM.from_pretrained(out).get_input_embeddings().weight
    torch.testing.assert_close(saved.float(), state["model"]["model.embed_tokens.weight"], atol=0.02, rtol=0.02)
