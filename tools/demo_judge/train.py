"""Trains the demo judge: `python -m tools.demo_judge.train --out rag_evaluator/demo/judge`."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from tools.demo_judge.batches import VERDICT_WEIGHT, Batch, batches
from tools.demo_judge.export import export
from tools.demo_judge.model import answer_logits, build_model
from tools.demo_judge.tokenizer import build_tokenizer, wrapped

WAITING = 48  # batches


@dataclass(frozen=True)
class Plan:
    """How a run goes; `progress` is the share of the tokens or of the minutes that is used up, whichever is more."""

    tokens: int
    minutes: float
    step_tokens: int
    muon_rate: float
    adam_rate: float

    def progress(self, tokens: int, seconds: float) -> float:
        return min(1.0, max(tokens / self.tokens, seconds / 60 / self.minutes))

    def difficulty(self, progress: float) -> float:
        return min(0.45, 0.15 + progress)

    def head_share(self, progress: float) -> float:
        """The share of batches under the prompts' long heads, as the judge is always used in the end."""
        return 0.0 if progress < 0.15 else 0.15 if progress < 0.85 else 0.35

    def whole_heads(self, progress: float) -> float:
        """The share of heads that are whole; the others are only their last tokens, which costs less."""
        return 0.0 if progress < 0.85 else 0.35

    def rate(self, progress: float) -> float:
        return min(1.0, 0.05 + progress / 0.02) * min(1.0, (1.02 - progress) / 0.45)


def optimisers(model: LlamaForCausalLM, plan: Plan) -> list[torch.optim.Optimizer]:
    """Muon for the layers' matrices (Jordan et al., 2024), AdamW for embeddings and norms."""
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    return [
        torch.optim.Muon(matrices, lr=plan.muon_rate, weight_decay=0.02, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=plan.adam_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


class Training:
    """A run that can stop and go on: the model, its optimisers, and how far it is."""

    def __init__(self, plan: Plan, tokenizer: PreTrainedTokenizerFast, seed: int, device: str) -> None:
        self.plan, self.tokenizer, self.device = plan, tokenizer, device
        self.rng = Random(seed)
        self.model = build_model(tokenizer, seed).to(device)
        self.optimisers = optimisers(self.model, plan)
        self.rates = [optimiser.param_groups[0]["lr"] for optimiser in self.optimisers]
        self.tokens, self.seconds, self.steps = 0, 0.0, 0
        self.waiting: list[Batch] = []

    def state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "tokenizer": self.tokenizer.backend_tokenizer.to_str(),
            "rng": self.rng.getstate(),
            "done": (self.tokens, self.seconds, self.steps),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self.rng.setstate(state["rng"])
        self.tokens, self.seconds, self.steps = state["done"]

    def step(self) -> dict[str, float]:
        """One update from some batches; returns the loss and the shares of tokens and verdicts right."""
        begun, progress = time.monotonic(), self.plan.progress(self.tokens, self.seconds)
        sums = {"loss": 0.0, "right": 0.0, "all": 0.0, "verdicts right": 0.0, "verdicts": 1e-9}
        wanted = self.plan.step_tokens
        while wanted > 0:
            made = self._next_batch(progress)
            self._backward(made, sums)
            self.tokens += made.tokens
            wanted -= made.input_ids.numel()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser, rate in zip(self.optimisers, self.rates, strict=True):
            optimiser.param_groups[0]["lr"] = rate * self.plan.rate(progress)
            optimiser.step()
            optimiser.zero_grad()
        self.steps += 1
        self.seconds += time.monotonic() - begun
        return sums

    def _next_batch(self, progress: float) -> Batch:
        """One of the waiting batches; those made together do not follow one another."""
        while len(self.waiting) < WAITING:
            headed = self.rng.random() < self.plan.head_share(progress)
            self.waiting += batches(
                self.tokenizer,
                self.rng,
                self.plan.difficulty(progress),
                headed,
                self.plan.whole_heads(progress),
                self.plan.step_tokens // (2 if headed else 4),
            )
        return self.waiting.pop(self.rng.randrange(len(self.waiting)))

    def _backward(self, made: Batch, sums: dict[str, float]) -> None:
        made = Batch(
            *(getattr(made, n).to(self.device) for n in ("head", "input_ids", "positions", "weights")), made.tokens
        )
        weights = made.weights[:, 1:]
        wanted, weight = made.input_ids[:, 1:][weights > 0], weights[weights > 0]
        with torch.autocast(self.device, dtype=torch.bfloat16):
            logits = answer_logits(self.model, made)
        losses = torch.nn.functional.cross_entropy(logits.float(), wanted, reduction="none")
        loss = (losses * weight).sum() / weight.sum()
        share = made.input_ids.numel() / self.plan.step_tokens
        (loss * share).backward()
        right, verdict = logits.argmax(-1) == wanted, weight == VERDICT_WEIGHT
        sums["loss"] += loss.item() * share
        sums["right"] += right.sum().item()
        sums["all"] += len(right)
        sums["verdicts right"] += (right & verdict).sum().item()
        sums["verdicts"] += verdict.sum().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--checkpoint", type=Path, default=Path("demo_judge_checkpoint.pt"), help="resumed from if it exists"
    )
    parser.add_argument("--minutes", type=float, default=150.0, help="training stops after so many minutes")
    parser.add_argument("--tokens", type=int, default=60_000_000, help="or after so many tokens")
    parser.add_argument("--step-tokens", type=int, default=4000)
    parser.add_argument("--save-minutes", type=float, default=3.0)
    parser.add_argument("--muon-rate", type=float, default=2e-3)
    parser.add_argument("--adam-rate", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    plan = Plan(args.tokens, args.minutes, args.step_tokens, args.muon_rate, args.adam_rate)
    state = torch.load(args.checkpoint, weights_only=False) if args.checkpoint.exists() else None
    tokenizer = wrapped(state["tokenizer"]) if state else build_tokenizer()
    run = Training(plan, tokenizer, args.seed, "cuda" if torch.cuda.is_available() else "cpu")
    if state:
        run.restore(state)
    train(run, args.checkpoint, args.out, args.save_minutes)


def train(run: Training, checkpoint: Path, out: Path, save_minutes: float) -> None:
    """Steps until the plan is used up, with a checkpoint and an export every `save_minutes`."""
    saved, totals = run.seconds, dict[str, float]()
    while run.plan.progress(run.tokens, run.seconds) < 1:
        for name, value in run.step().items():
            totals[name] = totals.get(name, 0.0) + value
        if run.steps % 50 == 0:
            print(
                f"step {run.steps} tokens {run.tokens / 1e6:.2f}M minutes {run.seconds / 60:.1f} "
                f"loss {totals['loss'] / 50:.3f} tokens right {totals['right'] / totals['all']:.3f} "
                f"verdicts right {totals['verdicts right'] / totals['verdicts']:.3f}",
                flush=True,
            )
            totals.clear()
        if run.seconds - saved > 60 * save_minutes:
            saved = run.seconds
            torch.save(run.state(), checkpoint)
            export(run.model, run.tokenizer, out)
    torch.save(run.state(), checkpoint)
    export(run.model, run.tokenizer, out)


if __name__ == "__main__":
    main()
