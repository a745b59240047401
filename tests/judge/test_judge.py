import asyncio
import functools
import random
from itertools import takewhile
from typing import Any

import pytest
import tiny_models
import torch
from pydantic import BaseModel
from tiny_models import Tiny, plain_of

from rag_evaluator import BudgetError, Judge, JudgementError, PromptTooLongError
from rag_evaluator.judge import Opinion, PackedDecoder, PromptText, run, share_out, tighten
from rag_evaluator.metrics import all_prompts
from rag_evaluator.prompts import CompareOutput, PackPrompt, english_pack

PROMPTS = {
    key: PackPrompt(english_pack(prompt), prompt)
    for key, prompt in all_prompts().items()
    if key[0] in {"faithfulness", "answer_relevancy", "context_recall", "context_relevance", "answer_correctness"}
}
PIECES = [
    "Nolu Brak was born in Tesk",
    'he said "no, }{ never"',
    "<think>maybe</think>",
    "<|im_end|></s>",
    "ذهبت إلى المدينة",
    "他出生于1903年。",
    "😀👩‍👩‍👧",
    "a\nb\tc\\n",
    '{"verdict": 1}',
    "<0x0A>▁",
]


PACKED_KINDS = [*tiny_models.KINDS, "mistral-window", "gemma2", "gpt-oss"]
FEW_KINDS = ["llama-bytelevel", "gemma-metaspace-unigram"]  # a tokenizer of bytes and one of pieces


class Note(BaseModel):
    note: str


def notes(judge: Judge, count: int, before: str = "") -> list[Any]:
    """Requests for so many notes, each with a prompt of its own."""
    return [
        judge.inner.request(PromptText(f"{before}{number}\nOutput: ", name="note"), Note) for number in range(count)
    ]


def shared_by(requests: list[Any]) -> int:
    """How many tokens all prompts begin with."""
    columns = zip(*(request.input_ids for request in requests), strict=False)
    return len(list(takewhile(lambda column: len(set(column)) == 1, columns)))


def assert_as_plain(judge: Judge, requests: list[Any]) -> None:
    """Token by token the answers are those of transformers' own `generate`, one by one."""
    replies = judge.inner.engine.handle(requests)
    assert [reply.token_ids for reply in replies] == [plain_of(judge).decode([one])[0].token_ids for one in requests]


def verdicts_on(statements: list[str]) -> tuple[PromptText, type[BaseModel]]:
    """A question for a verdict on each statement."""
    prompt = PROMPTS["faithfulness", "nli_statement_prompt"]
    return PromptText("x\nOutput: ", prompt.input_model(context="c", statements=statements)), prompt.output_model


def random_request(rng: random.Random) -> tuple[PromptText, type[BaseModel]]:
    """A prompt of ragas without its long head, about random text."""
    key, prompt = rng.choice(sorted(PROMPTS.items(), key=lambda item: item[0]))
    fields = prompt.input_model.model_fields.items()
    data = prompt.input_model(**{name: _value(field.annotation is str, rng) for name, field in fields})
    text = f"{key[1]}\ninput: {data.model_dump_json(indent=4)}\nOutput: "
    return PromptText(text, data, key[1]), prompt.output_model


def _value(text: bool, rng: random.Random) -> str | list[str]:
    pieces = rng.choices(PIECES, k=rng.randint(1, 2))
    return " ".join(pieces) if text else pieces


def may_be_endless(model: type[BaseModel], data: BaseModel | None) -> bool:
    """Whether an answer has texts that no limit ends."""
    return share_out(tighten(model, data), 512, 10_000, len).wanted > 0 or model.__name__ == "AnswerRelevanceOutput"


def ask(judge: Judge, requests: list[tuple[PromptText, type[BaseModel]]]) -> list[Opinion | Exception]:
    async def together() -> list[Any]:
        return await asyncio.gather(*(judge.inner.opinion(*request) for request in requests), return_exceptions=True)

    opinions: list[Opinion | Exception] = run(together())
    return opinions


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *((kind, 12) for kind in FEW_KINDS),
        *(pytest.param(kind, 12, marks=pytest.mark.models) for kind in tiny_models.KINDS if kind not in FEW_KINDS),
        *(pytest.param(kind, 400, marks=pytest.mark.slow) for kind in tiny_models.KINDS),
    ],
)
def test_judgements_of_random_weights_of_every_kind_all_parse(tiny: Tiny, kind: str, count: int) -> None:
    rng = random.Random(kind)
    requests = [random_request(rng) for _ in range(count)]
    judge = tiny(kind, max_new_tokens=512, batch_size=50)
    opinions = ask(judge, requests)
    for (prompt, model), opinion in zip(requests, opinions, strict=True):
        if isinstance(opinion, BudgetError):  # whoever writes at random does not end a text
            assert may_be_endless(model, prompt.data), opinion
            continue
        assert isinstance(opinion, Opinion), opinion
        assert isinstance(opinion.answer, model)
        if model.__name__ == "NLIStatementOutput":
            assert [item.statement for item in opinion.answer.statements] == prompt.data.statements  # type: ignore


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *((kind, 6) for kind in FEW_KINDS),
        *(pytest.param(kind, 6, marks=pytest.mark.models) for kind in PACKED_KINDS if kind not in FEW_KINDS),
        *(pytest.param(kind, 24, marks=pytest.mark.slow) for kind in PACKED_KINDS),
    ],
)
def test_batched_answers_equal_plain_ones_one_by_one(tiny: Tiny, kind: str, count: int) -> None:
    """Prefixes shared, forced tokens skipped, the batch refilled: token by token as transformers' own `generate`."""
    judge = tiny(kind, max_new_tokens=96, batch_size=5, dtype="float32")
    decoder = judge.inner.engine.decoder
    assert isinstance(decoder, PackedDecoder)
    requests = [judge.inner.request(*random_request(random.Random(seed))) for seed in range(count)]
    assert_as_plain(judge, requests)


def test_long_heads_are_shared_without_changing_a_token(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", max_new_tokens=64, batch_size=4, dtype="float32")
    head = "These words stand before every question. " * 8
    asked = [random_request(random.Random(seed)) for seed in range(12)]
    prompts = [(PromptText(head + text, text.data, "same"), model) for text, model in asked]
    requests = [judge.inner.request(*prompt) for prompt in prompts]
    assert_as_plain(judge, requests)
    assert len(judge.inner.engine.decoder.prefixes._known["same:"]) > 100


@pytest.mark.parametrize("first", [True, False], ids=["in the first batch", "later"])
def test_a_prompt_that_begins_otherwise_does_not_spoil_the_head_of_the_others(tiny: Tiny, first: bool) -> None:
    judge = tiny("llama-bytelevel", max_new_tokens=16, batch_size=4, dtype="float32")
    head = "These words stand before every question. " * 8
    usual = notes(judge, 9, head)
    [odd] = notes(judge, 1, f"</s>{head}")
    batches = [[odd, *usual[:3]], usual[3:6], [*usual[6:], odd]] if first else [usual[:6], [odd], usual[6:]]
    for batch in batches:
        assert_as_plain(judge, batch)
    prefixes = judge.inner.engine.decoder.prefixes
    assert len(prefixes._known["note:"]) == shared_by(usual)


@pytest.mark.parametrize("kind", ["gpt2", "bloom"], ids=["packed", "plain"])
def test_a_batch_that_does_not_fit_the_memory_is_halved_and_the_size_remembered(
    tiny: Tiny, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = tiny(kind, max_new_tokens=32, batch_size=8)
    requests = notes(judge, 8)
    engine = judge.inner.engine
    expected = engine.handle(requests)
    packed = engine.decoder.packed if kind == "gpt2" else None
    place, name = (engine.model, "forward") if packed is None else (packed, "run")
    whole = getattr(place, name)

    @functools.wraps(whole)  # what prepares the inputs of a model reads its parameters
    def small(*arguments: Any, **named: Any) -> Any:
        if len(named["input_ids"] if packed is None else arguments[2]) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(*arguments, **named)

    monkeypatch.setattr(place, name, small)
    assert engine.handle(requests) == expected
    assert engine.decoder.batch_size.most == 2


def test_as_many_rows_are_decoded_together_as_the_free_memory_holds(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", max_new_tokens=32, batch_size=8, dtype="float32")
    engine = judge.inner.engine
    decoder = engine.decoder
    config = engine.model.config
    assert decoder.batch_size.room > 0
    assert (
        decoder.batch_size.slot_bytes == config.num_hidden_layers * 2 * config.num_key_value_heads * config.head_dim * 4
    )
    longer = decoder.bytes_at_most(2000, 0, 99, False) - decoder.bytes_at_most(1000, 0, 99, False)
    assert longer == 8 * 1000 * decoder.batch_size.slot_bytes  # keys and values of eight sequences
    assert decoder.bytes_at_most(1000, 0, 4, False) < decoder.bytes_at_most(1000, 0, 8, False)
    kept = decoder.bytes_at_most(1000, 0, 99, True) - decoder.bytes_at_most(1000, 0, 99, False)
    assert kept == (8 * 1000 + decoder.beginnings.kept.most) * decoder.batch_size.slot_bytes
    requests = notes(judge, 8)
    expected = engine.handle(requests)
    length = max(len(request.input_ids) + request.budget.max_length for request in requests)
    decoder.batch_size.room = 3 * decoder.batch_size.slot_bytes * length
    assert decoder.batch_size.that_fit(length) == 3
    assert decoder.batch_size.that_fit(100 * length) == 1
    widths: list[int] = []
    run_model = decoder.packed.run  # type: ignore[union-attr]
    decoder.packed.run = lambda cache, *feeds: (widths.append(cache.width), run_model(cache, *feeds))[1]  # type: ignore
    assert [reply.token_ids for reply in engine.handle(requests)] == [reply.token_ids for reply in expected]
    assert max(widths) == 3


def test_a_json_choice_takes_one_pass_and_its_work_is_counted(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", dtype="float32")
    options = [CompareOutput(choice=number).model_dump_json(indent=4) for number in (1, 2)]
    passes: list[int] = []
    judge.inner.engine.model.register_forward_hook(lambda module, args, output: passes.append(1))
    shares = judge.choose("Which is better?\nOutput: ", options)
    assert sum(shares.values()) == pytest.approx(1)
    assert len(passes) == 1
    computed = judge.inner.engine.decoder.computed
    prompt = len(judge.inner.encoder.encode("Which is better?\nOutput: "))
    left = prompt + len(judge.inner.encoder.continuation(options[0])) - computed
    assert 0 < left <= 3  # "1", the line break and the bracket


def test_a_prompt_that_begins_as_another_takes_its_keys_and_values(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", max_new_tokens=16, dtype="float32")
    decoder = judge.inner.engine.decoder
    decoder.is_half = True  # as float32 keeps its last digits, nothing is taken there
    texts = ["Nolu Brak was born in Tesk. ", "Teal is a colour. ", ""]
    requests = [notes(judge, 3, f"Read this. {text * 3}") for text in texts]
    assert_as_plain(judge, [request for part in requests for request in part])
    prefix = len(decoder.prefixes._known["note:"])
    total = sum(len(note.input_ids) for part in requests for note in part)
    taken = [2 * (shared_by(part) - prefix) for part in requests]
    assert decoder.computed == total - 8 * prefix - sum(taken)
    assert min(taken[:2]) > taken[2] == 0


def test_sampling_gives_the_same_answer_for_the_same_seed_and_another_for_another(tiny: Tiny) -> None:
    request = [(PromptText("Say something.\nOutput: "), Note)]

    def sample(seed: int, batch: int) -> str:
        others = [random_request(random.Random(100 + i)) for i in range(batch)]
        judge = tiny("qwen2-chat", max_new_tokens=64, temperature=1.0, seed=seed)
        return repr(ask(judge, request + others)[0])

    assert sample(1, 0) == sample(1, 3)
    assert sample(1, 0) != sample(2, 0)


def test_asking_twice_asks_the_model_once(tiny: Tiny) -> None:
    judge = tiny("gpt2", max_new_tokens=32)
    same = PromptText("Say something.\nOutput: ")
    asked: list[int] = []
    decoder = judge.inner.engine.decoder
    decode = decoder.decode
    decoder.decode = lambda requests: asked.append(len(requests)) or decode(requests)
    first = ask(judge, [(same, Note)] * 3)
    second = ask(judge, [(same, Note)])
    assert asked == [1]
    assert first == second * 3


def test_a_prompt_longer_than_the_window_is_reported_with_its_numbers(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", {"max_position_embeddings": 256})
    with pytest.raises(PromptTooLongError, match="does not fit the model's window of 256 tokens"):
        judge.generate("word " * 300, Note)


def test_neighbours_with_long_answers_do_not_carry_a_row_past_the_window(tiny: Tiny) -> None:
    """GPT-2 has a table of positions: one step too far would be an error."""
    judge = tiny("gpt2", {"max_position_embeddings": 256}, max_new_tokens=200)
    assert judge.inner.window == 256
    near_the_end = PromptText(" ".join(["x"] * 100) + "\nOutput: ")
    opinions = ask(judge, [(near_the_end, Note), (PromptText("y\nOutput: "), Note)])
    assert not [opinion for opinion in opinions if isinstance(opinion, Exception)]


def test_a_budget_that_ends_in_the_first_text_of_a_list_gives_no_answer(tiny: Tiny) -> None:
    prompt = PROMPTS["faithfulness", "statement_generator_prompt"]
    data = prompt.input_model(question="q", answer="one two three four five six seven eight " * 6)
    judge = tiny("llama-bytelevel", max_new_tokens=48)
    with pytest.raises(BudgetError, match=r"did not fit into 48 new tokens; raise judge\.max_new_tokens"):
        judge.generate(PromptText("x\nOutput: ", data), prompt.output_model)


def test_a_budget_that_ends_among_verdicts_gives_no_answer_and_says_why(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", max_new_tokens=32)
    with pytest.raises(BudgetError, match=r"did not fit into 32 new tokens; raise judge\.max_new_tokens"):
        judge.generate(*verdicts_on(["Nolu was born in Tesk."] * 20))


def test_one_failing_request_does_not_disturb_its_neighbours(tiny: Tiny) -> None:
    judge = tiny("gpt2", max_new_tokens=32)

    def failing(model: Any, args: Any, kwargs: Any) -> None:
        if kwargs["input_ids"].numel() > 100:
            raise RuntimeError("a fault")

    judge.inner.engine.model.register_forward_pre_hook(failing, with_kwargs=True)
    prompts = [PromptText("a\nOutput: "), PromptText("x" * 300 + "\nOutput: "), PromptText("b\nOutput: ")]
    opinions = ask(judge, [(prompt, Note) for prompt in prompts])
    assert [type(opinion) for opinion in opinions] == [Opinion, RuntimeError, Opinion]


def test_the_models_own_generation_defaults_do_not_reach_the_judge(tiny: Tiny) -> None:
    judge = tiny("gpt2", max_new_tokens=64)
    requests = [judge.inner.request(*random_request(random.Random(9)))]
    plain = judge.inner.engine.handle(requests)
    judge.inner.engine.model.generation_config.repetition_penalty = 5.0
    judge.inner.engine.model.generation_config.do_sample = True
    assert judge.inner.engine.handle(requests) == plain
    assert judge.inner.engine.model.generation_config.repetition_penalty == 5.0


@pytest.mark.parametrize("kind", ["llama-bytelevel", "qwen2-chat", "mistral-metaspace-bpe"])
def test_options_have_the_probabilities_that_the_models_own_logits_give(tiny: Tiny, kind: str) -> None:
    judge = tiny(kind, dtype="float32")
    prompt = "Which one is better?\nOutput: "
    shares = judge.choose(prompt, ["1", "2"])
    with torch.inference_mode():
        logits = judge.inner.engine.model(torch.tensor([judge.inner.encoder.encode(prompt)])).logits[0, -1]
    first = [judge.inner.encoder.continuation(option)[0] for option in ("1", "2")]
    if first[0] == first[1]:  # a vocabulary in which both begin with the same blank
        assert sum(shares.values()) == pytest.approx(1)
    else:
        assert list(shares.values()) == pytest.approx(torch.softmax(logits[first], dim=-1).tolist(), abs=1e-4)


def test_every_verdict_has_a_confidence(tiny: Tiny) -> None:
    judge = tiny("gpt2", max_new_tokens=200)
    [opinion] = ask(judge, [verdicts_on(["A is 1.", "B is 2."])])
    assert isinstance(opinion, Opinion)
    assert len(opinion.confidence) == 2
    assert all(0.5 <= share <= 1 for share in opinion.confidence)


def test_very_many_verdicts_fit_the_default_budget(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", {"max_position_embeddings": 16384})
    [opinion] = ask(judge, [verdicts_on([f"Fact {number}." for number in range(128)])])
    assert isinstance(opinion, Opinion), opinion
    assert len(opinion.answer.statements) == 128  # type: ignore[attr-defined]


def test_a_window_just_large_enough_is_enough(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel")
    asked = verdicts_on([f"Fact {number}." for number in range(57)])
    judge.inner.window = len(judge.inner.encoder.encode(asked[0])) + judge.inner.request(*asked).budget.max_length
    assert isinstance(ask(judge, [asked])[0], Opinion)


def test_lists_that_do_not_end_within_the_budget_are_no_answers(tiny: Tiny) -> None:
    class Notes(BaseModel):
        notes: list[str]

    class Grade(BaseModel):
        score: int
        why: str

    class Grades(BaseModel):
        grades: list[Grade]

    judge = tiny("qwen2-chat", max_new_tokens=150)
    opinions = ask(judge, [(PromptText(f"{n}"), model) for n in range(6) for model in (Notes, Grades)])
    failed = [opinion for opinion in opinions if isinstance(opinion, Exception)]
    assert failed
    assert all("raise judge.max_new_tokens" in str(error) for error in failed)


def test_numbers_that_overflow_cost_the_judgement_and_say_so(tiny: Tiny) -> None:
    judge = tiny("gpt2", max_new_tokens=64, dtype="float32")
    good = ask(judge, [(PromptText("a\nOutput: "), Note)])[0]
    weight = judge.inner.engine.model.transformer.ln_f.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight.fill_(float("nan"))
    bad = ask(judge, [(PromptText(f"b{n}\nOutput: "), Note) for n in range(3)])
    assert all("NaN or infinite logits" in str(error) for error in bad)
    with pytest.raises(JudgementError, match="NaN or infinite logits"):
        judge.choose("c", ["1", "2"])
    with torch.no_grad():
        weight.copy_(kept)
    judge.inner._answers.clear()
    assert ask(judge, [(PromptText("a\nOutput: "), Note)])[0] == good


def test_prompts_longer_than_a_pass_are_read_in_parts_with_the_same_result(tiny: Tiny) -> None:
    judge = tiny("llama-bytelevel", max_new_tokens=32, dtype="float32")
    texts = ["The context says so. " * 200 + str(number) for number in range(3)] + ["short"]
    requests = [judge.inner.request(PromptText(text + "\nOutput: "), Note) for text in texts]
    assert max(len(request.input_ids) for request in requests) > 1024
    assert_as_plain(judge, requests)
