"""What grammars allow travels as bits; matchers are copied; answers stay the same."""

import random
from typing import Any

import llguidance
import numpy
import pytest
import torch
from test_judge import Note, random_request
from tiny_models import Tiny

from rag_evaluator.judge import PromptText
from rag_evaluator.judge.encoding.sequence import Sequence, expand


@pytest.mark.parametrize("size", [1, 31, 32, 33, 300, 151_936])
def test_bits_are_expanded_to_the_tokens_that_were_packed_on_every_device(size: int) -> None:
    torch.manual_seed(size)
    rows = [torch.rand(size) < share for share in (0.0, 0.01, 0.5, 1.0)]
    octets = numpy.zeros((len(rows), 4 * -(-size // 32)), numpy.uint8)
    octets[:, : -(-size // 8)] = numpy.packbits(torch.stack(rows).numpy(), axis=-1, bitorder="little")
    bits = torch.from_numpy(octets.view(numpy.int32))
    assert torch.equal(expand(bits, size), torch.stack(rows))


def test_questions_that_share_a_grammar_compile_it_once(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = tiny("gpt2", dtype="float32", max_new_tokens=24)
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


@pytest.mark.parametrize("kind", ["llama-bytelevel", "qwen2-chat", "mistral-metaspace-bpe"])
def test_the_grammars_bits_and_the_engines_mask_are_the_same_all_along_an_answer(tiny: Tiny, kind: str) -> None:
    judge = tiny(kind, dtype="float32")
    vocabulary = judge.inner.engine.vocabulary
    rng = random.Random(3)
    sequence = Sequence(judge.inner.request(*random_request(rng)), vocabulary)
    for _ in range(40):
        if sequence.done:
            break
        mask = sequence.mask()
        allowed = mask.nonzero().flatten().tolist()
        forced = (
            sequence.next_forced()
        )  # then the mask has the first token of the text that is forced, and no part of it
        legal = [token for token in range(vocabulary.size) if sequence.allows(token)]
        assert set(allowed) <= set(legal) if forced else allowed == legal
        bits = judge.inner.engine.decoder.chooser._bits([sequence], torch.device("cpu"))
        known = numpy.unpackbits(bits[0].numpy().view(numpy.uint8), count=vocabulary.size, bitorder="little")
        assert known.astype(bool).tolist() == sequence.within_budget(mask).tolist()
        sequence.push((forced or [rng.choice(allowed)])[0])


@pytest.mark.parametrize("kind", ["llama-bytelevel", "mistral-metaspace-bpe"])
def test_the_best_of_all_tokens_is_taken_only_where_it_is_the_best_of_the_allowed_ones(
    tiny: Tiny, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = tiny(kind, dtype="float32", max_new_tokens=40)
    engine = judge.inner.engine
    rng = random.Random(5)
    chooser = engine.decoder.chooser
    size = engine.vocabulary.size
    torch.manual_seed(1)
    looked_at: list[int] = []
    by_mask = chooser._choose_allowed

    def counting(sequences: Any, logits: torch.Tensor) -> list[int]:
        looked_at.append(len(sequences))
        return by_mask(sequences, logits)

    requests = [judge.inner.request(*random_request(rng)) for _ in range(6)]
    sequences, others = ([Sequence(request, engine.vocabulary) for request in requests] for _ in range(2))
    steps = 0
    while going := [place for place, entry in enumerate(sequences) if not entry.done]:
        for place in list(going):
            if forced := sequences[place].next_forced():
                others[place].next_forced()
                sequences[place].push(forced[0])
                others[place].push(forced[0])
                going.remove(place)
        if not going:
            continue
        logits = (3 * torch.randn(len(going), size)).round()  # many are equal
        for row, place in enumerate(going):
            allowed = sequences[place].mask()
            if rng.random() < 0.6:
                logits[row, allowed] += 20
            elif rng.random() < 0.2:
                logits[row, ~allowed] = float("nan")
        mine = [sequences[place] for place in going]
        theirs = [others[place] for place in going]
        monkeypatch.setattr(chooser, "_choose_allowed", counting)
        tokens = chooser.choose(mine, logits.clone())
        monkeypatch.setattr(chooser, "_choose_allowed", by_mask)
        assert tokens == by_mask(theirs, logits.clone())
        for entry, other, token in zip(mine, theirs, tokens, strict=True):
            entry.push(token)
            other.push(token)
        steps += len(going)
    assert [entry.confidence for entry in sequences] == [entry.confidence for entry in others]
    assert 0 < sum(looked_at) < 0.8 * steps
