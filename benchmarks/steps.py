"""`python -m benchmarks.steps`: what choosing the next tokens of many answers costs beside the forward pass.

A made-up byte-level vocabulary of the size of Qwen's, answers to faithfulness' question in the middle of their first
reason, logits in float32 on the CPU, one thread. Two kinds of logits: the best of all tokens is allowed, as it is with
a model that knows the form of its answers; and it is refused in each row, so that all masks must be computed. Writes
steps.md; --json prints the figures only, so that two versions can be put beside each other.
"""

import argparse
import itertools
import json
import string
import time
from pathlib import Path
from statistics import median

import torch
from ragas.metrics.collections.faithfulness.util import NLIStatementInput, NLIStatementOutput
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from benchmarks.report import machine, table
from rag_evaluator.judge.encoding.sequence import Chooser, Sequence, Vocabulary
from rag_evaluator.judge.grammar.lark import Budget, to_lark
from rag_evaluator.judge.grammar.schema import tighten
from rag_evaluator.judge.protocol import Request

PAGE = Path("benchmarks/steps.md")
END, SIZE = "</s>", 152_000


def vocabulary() -> Vocabulary:
    """Bytes, and words of one to four letters with and without a space before them."""
    words = (
        "".join(letters) for length in (2, 3, 4) for letters in itertools.product(string.ascii_lowercase, repeat=length)
    )
    texts = itertools.chain.from_iterable((word, f"Ġ{word}") for word in words)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    known = [END, *alphabet, *itertools.islice(texts, SIZE - 1 - len(alphabet))]
    tokenizer = Tokenizer(models.BPE({text: number for number, text in enumerate(known)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return Vocabulary(PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END), SIZE)


def answers(known: Vocabulary, count: int) -> list[Sequence]:
    """Answers in the middle of their first reason."""
    data = NLIStatementInput(context="c", statements=["The bridge is old.", "It is long."])
    request = Request(
        input_ids=(1,),
        grammar=to_lark(tighten(NLIStatementOutput, data)),
        max_new_tokens=4096,
        budget=Budget(2048, 0, 0, 4096, 0),
        temperature=0,
        seed=0,
        group="",
    )
    made = [Sequence(request, known) for _ in range(count)]
    for sequence in made:
        while forced := sequence.next_forced():
            sequence.push(forced[0])
        sequence.push(known.texts.index(b"the"))
    return made


def seconds(chooser: Chooser, rows: list[Sequence], logits: torch.Tensor, rounds: int) -> float:
    """Of one step, the median."""
    spent = []
    for _ in range(rounds):
        given = logits.clone()
        before = time.perf_counter()
        chooser.choose(rows, given)
        spent.append(time.perf_counter() - before)
    return median(spent)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steps", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 100])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    known = vocabulary()
    chooser, found = Chooser(known), []
    for count in options.rows:
        rows, logits = answers(known, count), torch.randn(count, SIZE)
        allowed = seconds(chooser, rows, logits, options.rounds)  # of random logits: nearly all are, in a text
        logits[:, known.texts.index(b"\n")] = logits.max() + 1
        found.append((count, allowed, seconds(chooser, rows, logits, options.rounds)))
    if options.json:
        print(json.dumps(found))
        return
    lines = [[str(count), *(f"{1000 * value:.1f}" for value in values)] for count, *values in found]
    columns = ("rows", "ms a step, best token allowed", "ms a step, best token refused")
    about = f"Written by `python -m benchmarks.steps`, {machine()}, one thread; {SIZE:,} tokens."
    PAGE.write_text(f"# Choosing the next tokens\n\n{about}\n\n{table(columns, lines)}\n", encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
