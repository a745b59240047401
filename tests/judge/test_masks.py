"""What grammars allow travels as bits; matchers are copied; answers stay the same."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llguidance
import pytest
import torch
from test_judge import Note, load, random_request

from rag_evaluator import JudgementError
from rag_evaluator.judge.encoding.sequence import Sequence, expand, no_tokens, to_bits, to_mask
from rag_evaluator.judge.protocol import PromptText


@pytest.mark.parametrize("size", [1, 31, 32, 33, 300, 151_936])
def test_bits_are_expanded_to_the_tokens_that_were_packed_on_every_device(size: int) -> None:
    torch.manual_seed(size)
    rows = [torch.rand(size) < share for share in (0.0, 0.01, 0.5, 1.0)]
    bits = no_tokens(len(rows), size, torch.device("cpu"))
    for index, row in enumerate(rows):
        bits[index] = to_bits(row, bits.shape[1])
    assert bits.dtype == torch.int32 and bits.shape == (4, -(-size // 32))
    assert torch.equal(to_mask(bits, size), torch.stack(rows))
    assert torch.equal(expand(bits, size), torch.stack(rows))
    assert to_mask(bits.to("meta"), size).shape == (4, size)


def test_a_batch_is_sent_as_one_bit_a_token_from_memory_that_a_gpu_reads_without_waiting(
    model_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = load(model_folder("gpt2"), dtype="float32")
    engine = judge.inner.engine
    sequences = [Sequence(judge.inner.request(PromptText(text), Note), engine.vocabulary) for text in "ab"]
    asked: list[Any] = []

    def zeros(*arguments: Any, pin_memory: bool, **settings: Any) -> torch.Tensor:
        asked.append(pin_memory)  # this torch knows no GPU, and can pin nothing
        return torch.full(*arguments, 0, **settings)

    def to(bits: torch.Tensor, device: torch.device, non_blocking: bool) -> torch.Tensor:
        asked.append((bits.dtype, bits.numel() * 32 >= 2 * engine.vocabulary.size, str(device), non_blocking))
        return bits

    monkeypatch.setattr(torch, "zeros", zeros)
    monkeypatch.setattr(torch.Tensor, "to", to)
    engine.decoder.chooser._bits(sequences, torch.device("cuda:1"))
    assert asked == [True, (torch.int32, True, "cuda:1", True)]


def test_questions_that_share_a_grammar_compile_it_once(
    model_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = load(model_folder("gpt2"), dtype="float32", max_new_tokens=24)
    compiled: list[str] = []
    compile_grammar = llguidance.LLMatcher

    def compiling(engine: Any, grammar: str, **settings: Any) -> Any:
        compiled.append(grammar)
        return compile_grammar(engine, grammar, **settings)

    monkeypatch.setattr(llguidance, "LLMatcher", compiling)
    requests = [judge.inner.request(PromptText(f"question {number}"), Note) for number in range(6)]
    together = judge.inner.engine.handle(requests)
    assert len(compiled) == 1
    judge.inner.engine.vocabulary._compiled.cache_clear()
    assert [judge.inner.engine.handle([request])[0] for request in requests] == together


def test_a_copied_matcher_does_not_move_with_the_one_it_was_copied_from(model_folder: Callable[..., Path]) -> None:
    vocabulary = load(model_folder("gpt2")).inner.engine.vocabulary
    first, second = (vocabulary.matcher('start: "ab" | "cd"') for _ in range(2))
    token = next(token for token in range(vocabulary.size) if vocabulary.texts[token] == b"a")
    assert first.consume_token(token)
    assert second.compute_bitmask() != first.compute_bitmask()
    assert second.compute_bitmask() == vocabulary.matcher('start: "ab" | "cd"').compute_bitmask()


def test_a_grammar_that_is_not_valid_is_refused_each_time(model_folder: Callable[..., Path]) -> None:
    vocabulary = load(model_folder("gpt2")).inner.engine.vocabulary
    for _ in range(2):
        with pytest.raises(JudgementError, match="grammar is not valid"):
            vocabulary.matcher("start: nothing")


@pytest.mark.parametrize("kind", ["llama-bytelevel", "qwen2-chat", "mistral-metaspace-bpe"])
def test_the_grammars_bits_and_the_engines_mask_are_the_same_all_along_an_answer(
    model_folder: Callable[..., Path], kind: str
) -> None:
    judge = load(model_folder(kind), dtype="float32")
    vocabulary, rng = judge.inner.engine.vocabulary, random.Random(3)
    sequence = Sequence(judge.inner.request(*random_request(rng)), vocabulary)
    for _ in range(40):
        if sequence.done:
            break
        mask = sequence.mask()
        allowed = mask.nonzero().flatten().tolist()
        assert all(map(sequence.allows, rng.sample(allowed, min(5, len(allowed)))))
        bits = judge.inner.engine.decoder.chooser._bits([sequence], torch.device("cpu"))
        assert torch.equal(to_mask(bits, vocabulary.size)[0], sequence.within_budget(mask))
        sequence.push((sequence.next_forced() or [rng.choice(allowed)])[0])
