"""What our engine does with a model's folder: how it runs it, and whether its tokens are those of the model alone."""

import json
from collections.abc import Sequence as Items
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge.encoding.sequence import Sequence
from rag_evaluator.judge.engines.transformers.decoder import Outcome
from rag_evaluator.judge.engines.transformers.engine import TransformersEngine
from rag_evaluator.judge.protocol import Reply, Request
from tools.requests48 import questions, requests

QUESTIONS = (0, 1, 2, 9, 12, 16, 18, 23, 34, 36, 38, 44)
"""Of the 48: prompts of 107 to 247 tokens; two or three begin with the same 64 to 94."""
NEW_TOKENS = 16  # that the model may choose for an answer; forced ones do not count
BATCH = 16
TOLERANCE = 1e-2  # of a log probability; what a row sees changes it by 10, and the last bits of products by 0.001
MESSAGE = 200  # characters of an error that are kept


@dataclass
class Finding:
    """What was found of one architecture.

    Attributes:
        model_type: of its configuration.
        way: how the engine runs it: packed, plain; refused: it does not load.
        why: why it is not packed, or the message with which it was refused.
        rows_alone: why each row is decoded alone; None if rows share batches.
        asked: requests.
        complete: those with a whole answer that is JSON, in batches of 16, and lists of texts that reached their limit:
            random weights do not end a text.
        unequal: positions of those whose tokens are not those of the model alone, in batches of 16.
        batch_unequal: positions of those whose tokens are others in batches of 1.
        difference: the largest difference of a log probability from that of the model alone.
        error: what was raised after the model was loaded.
    """

    model_type: str
    way: str = "refused"
    why: str | None = None
    rows_alone: str | None = None
    asked: int = 0
    complete: int = 0
    unequal: list[int] = field(default_factory=list)
    batch_unequal: list[int] = field(default_factory=list)
    difference: float = 0.0
    error: str | None = None

    @property
    def right(self) -> bool:
        """Whether every answer is complete and the one of the model alone, in any batch."""
        equal = not self.unequal and not self.batch_unequal and self.difference <= TOLERANCE
        return equal and self.error is None and 0 < self.asked == self.complete

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "difference": float(f"{self.difference:.1g}"), "right": self.right}


def check(folder: Path, chosen: Items[int] = QUESTIONS, new_tokens: int = NEW_TOKENS) -> Finding:
    """Load a folder as a user would, and ask it some of the 48 questions."""
    finding = Finding(json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"])
    config = JudgeConfig(model=str(folder), dtype="float32", batch_size=BATCH)
    try:
        engine = TransformersEngine.load(config, True)
    except Exception as error:  # a message is part of what is measured
        finding.why = short(error, folder)
        return finding
    finding.way = engine.decoder.path
    finding.why = engine.why
    finding.rows_alone = engine.decoder.alone
    every = list(questions())
    asked = [(*every[number][:2], new_tokens) for number in chosen]
    named = [
        replace(request, group=model.__name__)
        for request, (_, model, _) in zip(requests(engine, asked), asked, strict=True)
    ]
    try:
        _compare(engine, config, named, finding)
    except Exception as error:
        finding.error = short(error, folder)
    return finding


def short(error: BaseException, folder: Path) -> str:
    """The beginning of an error, in one line, without the path of a folder that is made anew each time."""
    text = " ".join(f"{type(error).__name__}: {error}".replace(str(folder), "FOLDER").split())
    return text if len(text) <= MESSAGE else f"{text[:MESSAGE]}…"


def _compare(engine: TransformersEngine, config: JudgeConfig, asked: Items[Request], finding: Finding) -> None:
    finding.asked = len(asked)
    together = engine.handle(asked)
    finding.complete = sum(map(_is_complete, together, asked))
    expected = [alone(engine, request) for request in asked]
    everything = list(range(engine.vocabulary.size))
    logprobs = engine.logprobs([(input_ids, everything) for _, input_ids, _ in expected])
    finding.difference = max(
        float((torch.tensor(ours, dtype=torch.double) - own).abs().nan_to_num(torch.inf).max())
        for ours, (_, _, own) in zip(logprobs, expected, strict=True)
    )
    finding.unequal = _different(together, [tokens for tokens, _, _ in expected])
    single = TransformersEngine(engine.model, engine.encoder.tokenizer, config.model_copy(update={"batch_size": 1}))
    finding.batch_unequal = _different(together, [_tokens(outcome) for outcome in single.handle(asked)])


def alone(engine: TransformersEngine, request: Request) -> tuple[list[int], tuple[int, ...], torch.Tensor]:
    """The answer of a model that reads everything again for each choice: no neighbours, no padding, no cache.

    Returns its tokens; the tokens before its first choice, and the log probabilities `(vocab,)` of that choice.
    """
    sequence = Sequence(request, engine.vocabulary)
    first: tuple[tuple[int, ...], torch.Tensor] | None = None
    while not sequence.done:
        if forced := sequence.next_forced():
            sequence.push(forced[0])
            continue
        input_ids = (*request.input_ids, *sequence.tokens)
        with torch.inference_mode():
            logits = engine.model(torch.tensor([input_ids]), use_cache=False).logits[:, -1]
        first = first or (input_ids, torch.log_softmax(logits[0].double(), dim=-1))
        (token,) = engine.decoder.chooser.choose([sequence], logits)
        if sequence.failure is not None:
            break
        sequence.push(token)
    assert first is not None
    return sequence.tokens, *first


def _different(outcomes: Items[Outcome], tokens: Items[Items[int]]) -> list[int]:
    pairs = zip(outcomes, tokens, strict=True)
    return [index for index, (outcome, own) in enumerate(pairs) if _tokens(outcome) != list(own)]


def _tokens(outcome: Outcome) -> list[int]:
    return list(outcome.token_ids) if isinstance(outcome, Reply) else []


def _is_complete(outcome: Outcome, request: Request) -> bool:
    if not isinstance(outcome, Reply) or not outcome.complete:
        return isinstance(outcome, Reply) and request.budget.wanted > 0
    try:
        return isinstance(json.loads(outcome.text), dict)
    except ValueError:
        return False
