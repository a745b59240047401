"""`python -m benchmarks.verifiers`: groundedness beside faithfulness: how well rows are told apart, and what they cost.

Three measurements, which write verifiers.md:

judge: the demo judge asked by `choose` (`verifier.model: judge`) and as faithfulness, on rows with labels: the sample,
    and questions about Wikipedia articles (--data, rows with `response_is_correct` and `gold_rank`, as XQuAD arranged).
reasons: the same rows with one context, faithfulness with `judge.reasons` full, short and none.
speed: a random encoder of the shape of DeBERTa-v3-base as a verifier, and a random Llama as a judge, both bfloat16 or
    float32 as they are loaded by default, in turns on the same rows.

CPU seconds are those of this process while rows are scored; models are loaded before.
"""

import argparse
import json
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.models import model_folder
from benchmarks.report import machine, origin, table
from benchmarks.rows import make_rows
from rag_evaluator import RAGEvaluator, Results
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.results import Judgement
from rag_evaluator.statistics import ScoredLabels, label_auc

PAGE = Path("benchmarks/verifiers.md")
FIGURES = Path("benchmarks/verifiers.json")
SAMPLE = Path("examples/dataset.jsonl")
METRICS = ("groundedness", "faithfulness")
DEBERTA_V3_BASE = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "vocab_size": 128100,
    "max_position_embeddings": 512,
    "relative_attention": True,
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "type_vocab_size": 0,
    "pad_token_id": 0,
}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "faithfulness": {"metrics": ["faithfulness"]},
    "groundedness, the judge chooses": {"metrics": ["groundedness"], "verifier": {"model": "judge"}},
    "groundedness, context by context": {"metrics": ["groundedness"], "verifier": {"evidence": "each"}},
    "groundedness, packed": {"metrics": ["groundedness"]},
}
BY_ENCODER = ("groundedness, context by context", "groundedness, packed")


@dataclass(frozen=True)
class Told:
    """How a metric tells right responses from wrong ones.

    Attributes:
        auc: the share of pairs of a right and a wrong row in which the right one has the higher score, ties half;
            with its interval, 95 %.
        seconds: CPU seconds a row.
        tokens: of prompts and answers, a row.
        missing: rows without a score.
    """

    rows: str
    metric: str
    scored: int
    auc: tuple[float | None, float | None, float | None]
    seconds: float
    tokens: float
    missing: int


def labelled_rows(data: Path | None, count: int) -> dict[str, tuple[list[dict[str, Any]], list[bool], str]]:
    """Name -> rows, whether each response is right, and the language."""
    sample = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    told = [row for row in sample if row["label"] in ("right", "wrong")]
    sets = {"sample": (told, [row["label"] == "right" for row in told], "english")}
    if data is None:
        return sets
    for code, language in (("en", "english"), ("es", "spanish")):
        lines = (data / f"rag_{code}.jsonl").read_text(encoding="utf-8").splitlines()[: count + 1]
        rows = [json.loads(line) for line in lines]
        right = [bool(row["response_is_correct"]) for row in rows[:count]]
        gold = [row["retrieved_contexts"][int(row["gold_rank"]) - 1] for row in rows]
        one = [{**row, "retrieved_contexts": [text]} for row, text in zip(rows[:count], gold, strict=False)]
        five = [
            {**row, "retrieved_contexts": [*row["retrieved_contexts"], other]}
            for row, other in zip(rows[:count], gold[1:], strict=True)
        ]
        sets |= {
            f"XQuAD {code}, 1 context": (one, right, language),
            f"XQuAD {code}, 5 contexts": (five, right, language),
        }
    return sets


def tell(
    name: str, metric: str, rows: list[dict[str, Any]], right: Sequence[bool], language: str, reasons: str = "full"
) -> Told:
    """Score the rows with the demo judge."""
    options = {"groundedness": {"mode": "mean"}} if metric == "groundedness" else {}
    config = {"metrics": [metric], "metric_options": options, "language": language, "judge": {"reasons": reasons}}
    evaluator = RAGEvaluator(config)
    evaluator.evaluate(speed_rows(1))  # loads the judge; what it answered once it need not answer again
    before = time.process_time()
    results = evaluator.evaluate(rows)
    seconds = time.process_time() - before
    scores = np.array([score.value for score in results.scores[metric]])
    known = ~np.isnan(scores)
    count = int(known.sum())
    found = label_auc(ScoredLabels(scores[known], np.array(right, dtype=float)[known], np.ones(count)))
    return Told(
        name,
        metric,
        count,
        (found.value, found.ci_low, found.ci_high),
        seconds / len(rows),
        tokens(results, rows, language),
        len(rows) - count,
    )


def tokens(results: Results, rows: Sequence[Mapping[str, Any]], language: str) -> float:
    """Tokens of all questions and answers, a row, by the demo judge's tokenizer."""
    from transformers import AutoTokenizer

    from rag_evaluator.prompts import OwnPrompt, PackSet, VerifyInput
    from rag_evaluator.results import input_values

    tokenizer = AutoTokenizer.from_pretrained(DEMO_JUDGE)
    key = ("groundedness", "prompt")
    prompt = PackSet({key: OwnPrompt(*key)}, language, Path("prompts")).load()[key]
    total = 0
    for scores in results.scores.values():
        for score, row in zip(scores, rows, strict=True):
            for data in score.judgements:
                judgement = Judgement.from_json(data)
                total += judgement.prompt_tokens + judgement.generated_tokens
                if judgement.shares:  # a choice: one pass, without tokens on record
                    values = input_values(judgement.parts, row, [])
                    total += len(tokenizer(prompt.to_string(VerifyInput(**values)))["input_ids"])
    return total / len(rows)


def english_tokenizer() -> Any:
    """The demo judge's tokenizer, trained anew: 1.6 tokens a word of the rows (2.8 with its own words of a toy)."""
    from transformers import AutoTokenizer

    texts = [path.read_text(encoding="utf-8") for path in sorted(Path("orig_prompts").glob("*.json"))]
    texts += [text for row in make_rows(400) for text in row["retrieved_contexts"]]
    return AutoTokenizer.from_pretrained(DEMO_JUDGE).train_new_from_iterator(texts, 8000)


def encoder_folder(folder: Path, tokenizer: Any) -> Path:
    """A random encoder of the shape of DeBERTa-v3-base with labels of inference."""
    import torch
    from tokenizers.processors import TemplateProcessing
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    path = folder / "random-deberta"
    tokenizer.add_special_tokens({"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"})
    ids = [(name, tokenizer.convert_tokens_to_ids(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids
    )
    tokenizer.save_pretrained(path)
    torch.manual_seed(0)
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    config = DebertaV2Config(**DEBERTA_V3_BASE, id2label=labels)  # type: ignore[arg-type]  # values of many types
    DebertaV2ForSequenceClassification(config).save_pretrained(path)
    return path


def speed_rows(
    count: int, first: int = 0, contexts: int = 5, words: int = 120, sentences: int = 4
) -> list[dict[str, Any]]:
    """Rows of contexts and responses of a given length, made of the sentences of generated rows.

    Args:
        first: number of the first one; rows with other numbers have other texts.
    """
    parts = [text for row in make_rows(400) for text in row["retrieved_contexts"]]
    claims = [row["response"] for row in make_rows(400, seed=1)]
    rows = []
    for number in range(first, first + count):
        texts = []
        for place in range(contexts):
            start = (number * contexts + place) * 7
            texts.append(" ".join(" ".join(parts[start : start + 7]).split()[:words]))
        mine = claims[number * sentences : (number + 1) * sentences]
        rows.append({"user_input": "What is known?", "retrieved_contexts": texts, "response": " ".join(mine)})
    return rows


def speed(count: int, rounds: int, judge_rows: int, limit: int, judge: str) -> list[dict[str, tuple[float, float]]]:
    """Rows a second of each way, in turns, and the tokens that the judge wrote a row."""
    with tempfile.TemporaryDirectory() as place:
        llama = model_folder(judge, Path(place), english_tokenizer())
        encoder = encoder_folder(Path(place), english_tokenizer())
        evaluators = {
            name: RAGEvaluator(
                {"judge": {"model": str(llama), "max_new_tokens": limit}, **way},
                verifier=encoder if name in BY_ENCODER else None,
            )
            for name, way in WAYS.items()
        }
        for evaluator in evaluators.values():
            evaluator.evaluate(speed_rows(1))  # loads the model
        measured = []
        for number in range(rounds):
            rates = {}
            for name, evaluator in evaluators.items():
                size = count if name in BY_ENCODER else judge_rows
                rows = speed_rows(size, 1 + number * size)  # nothing that was answered before
                before = time.perf_counter()
                results = evaluator.evaluate(rows)
                seconds = time.perf_counter() - before
                judgements = [
                    data for scores in results.scores.values() for score in scores for data in score.judgements
                ]
                written = sum(Judgement.from_json(data).generated_tokens for data in judgements)
                rates[name] = len(rows) / seconds, written / len(rows)
            measured.append(rates)
            print(rates, file=sys.stderr)
        return measured


def told_table(told: Sequence[Mapping[str, Any]]) -> str:
    """Rows of `Told` as JSON."""
    columns = ("rows", "metric", "n", "AUC", "CPU s a row", "tokens a row", "missing")
    return table(
        columns,
        [
            [
                str(each["rows"]),
                each["metric"],
                str(each["scored"]),
                "{:.2f} [{:.2f}, {:.2f}]".format(*each["auc"]),
                f"{each['seconds']:.2f}",
                f"{each['tokens']:.0f}",
                str(each["missing"]),
            ]
            for each in told
        ],
    )


CHANCE = "\nAUC: 0.5 is chance, 1 perfect; the demo judge is a toy that was never trained on this.\n"


def render(known: Mapping[str, Any]) -> str:
    """benchmarks/verifiers.md."""
    lines = ["# Verifiers", "\nWritten by `python -m benchmarks.verifiers`.\n"]
    for name, title in (("judge", "The demo judge as a verifier"), ("reasons", "Faithfulness with shorter reasons")):
        if name in known:
            lines += [f"## {title}\n", origin(known[name]), "", told_table(known[name]["told"]), CHANCE]
    if "speed" in known:
        figures = known["speed"]
        lines += ["## An encoder beside a language model\n", origin(figures), ""]
        base = [rates["faithfulness"][0] for rates in figures["rates"]]
        rows = []
        for name in WAYS:
            rates, written = zip(*(rates[name] for rates in figures["rates"]), strict=True)
            times = [rate / other for rate, other in zip(rates, base, strict=True)]
            often = f"{median(times):.1f} ({min(times):.1f} to {max(times):.1f})"
            rows.append([name, f"{60 * median(rates):.1f}", often, f"{min(written):.0f} to {max(written):.0f}"])
        lines += [table(("way", "rows a minute", "times faithfulness", "tokens written a row"), rows), ""]
    return "\n".join(lines)


def main() -> None:
    """Measure, and write figures and page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verifiers", description=__doc__)
    parser.add_argument("which", choices=("judge", "reasons", "speed"))
    parser.add_argument("--data", type=Path, help="folder of rag_en.jsonl and rag_es.jsonl")
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--judge", default="random-1b", help="of speed: a name of benchmarks.models")
    parser.add_argument("--judge-rows", type=int, default=1)
    parser.add_argument("--max-new-tokens", type=int, default=256)
    parser.add_argument("--note", default="", help="what else the machine did, for the page")
    options = parser.parse_args()
    known = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    about = {
        "command": shlex.join(["python", "-m", "benchmarks.verifiers", *(Path(word).name for word in sys.argv[1:])]),
        "date": date.today().isoformat(),
        "machine": machine(),
        "note": options.note,
    }
    if options.which == "judge":
        told = []
        for name, (rows, right, language) in labelled_rows(options.data, options.rows).items():
            told += [asdict(tell(name, metric, rows, right, language)) for metric in METRICS]
            print(told[-2:], file=sys.stderr)
        known["judge"] = {**about, "told": told}
    elif options.which == "reasons":
        told = []
        for name, (rows, right, language) in labelled_rows(options.data, options.rows).items():
            for reasons in ("full", "short", "none") if "5 contexts" not in name else ():
                told.append(asdict(tell(f"{name}, {reasons}", "faithfulness", rows, right, language, reasons)))
                print(told[-1], file=sys.stderr)
        known["reasons"] = {**about, "told": told}
    else:
        rates = speed(options.rows, options.rounds, options.judge_rows, options.max_new_tokens, options.judge)
        known["speed"] = {**about, "rates": rates}
    FIGURES.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(render(known), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
