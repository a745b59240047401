"""Trains the demo judge: `python -m tools.demo_judge.train --out rag_evaluator/demo/judge`.

On a CPU one process per core, each with rows of its own; their gradients are averaged at each step.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
import torch.distributed as dist
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from tools.demo_judge.batches import VERDICT_WEIGHT, Batch, Heads, batches
from tools.demo_judge.export import export
from tools.demo_judge.model import build_model, seen
from tools.demo_judge.tokenizer import build_tokenizer, wrapped

WAITING = 24  # batches of each kind
LOOKED_WEIGHT = 0.4  # of the loss of the guided heads


@dataclass(frozen=True)
class Phase:
    """A part of a run, up to the progress `until`.

    headed: the share of batches under the prompts' long heads, as the judge is always used in the end. whole: the share
    of these heads that are whole; the others are only their last tokens, which costs less.
    """

    until: float
    headed: float
    whole: float


PHASES = (Phase(0.1, 0, 0), Phase(0.3, 0.2, 0), Phase(0.4, 0.2, 0.1), Phase(0.84, 0.35, 0.5), Phase(1.0, 0.6, 0.8))


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

    def phase(self, progress: float) -> Phase:
        return next(phase for phase in PHASES if progress <= phase.until)

    def rate(self, progress: float, steps: int) -> float:
        """steps: taken with these optimisers, which start slowly."""
        return min(1.0, 0.05 + steps / 200) * min(1.0, (1.02 - progress) / 0.45)


def optimisers(model: LlamaForCausalLM, plan: Plan) -> list[torch.optim.Optimizer]:
    """Muon for the layers' matrices (Jordan et al., 2024), AdamW for the rest."""
    matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if not any(p is matrix for matrix in matrices)]
    return [
        torch.optim.Muon(matrices, lr=plan.muon_rate, weight_decay=0.02, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=plan.adam_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


class Training:
    """A run that can stop and go on: the model, its optimisers, and how far it is; the same in each process."""

    def __init__(self, plan: Plan, tokenizer: PreTrainedTokenizerFast, seed: int, device: str) -> None:
        self.plan, self.tokenizer, self.seed, self.device = plan, tokenizer, seed, device
        self.rng = self._fresh_rng(0)
        self.model = build_model(tokenizer, seed).to(device)
        self.optimisers = optimisers(self.model, plan)
        self.rates = [optimiser.param_groups[0]["lr"] for optimiser in self.optimisers]
        self.tokens, self.seconds, self.steps, self.warm = 0, 0.0, 0, 0
        self.waiting: dict[Heads, list[Batch]] = {heads: [] for heads in Heads}
        self.begun = time.monotonic()

    def _fresh_rng(self, step: int) -> Random:
        return Random(f"{self.seed} {dist.get_rank()} {step}")

    def state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "tokenizer": self.tokenizer.backend_tokenizer.to_str(),
            "done": (self.tokens, self.seconds, self.steps, self.warm),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self.tokens, self.seconds, self.steps, self.warm = state["done"]
        self.rng = self._fresh_rng(self.steps)

    def start_from(self, judge: Path, minutes: float) -> None:
        """Takes the weights of an exported judge, as if `minutes` of the plan were used up."""
        self.model.load_state_dict(LlamaForCausalLM.from_pretrained(judge, dtype=torch.float32).state_dict())
        self.seconds = 60 * minutes

    def step(self) -> dict[str, float]:
        """One update from some batches; returns the loss and the shares of tokens and verdicts right."""
        begun, progress = self.begun, self.plan.progress(self.tokens, self.seconds)
        sums = {"loss": 0.0, "looked": 0.0, "right": 0.0, "all": 0.0, "verdicts right": 0.0, "verdicts": 1e-9}
        wanted, read, heads = self.plan.step_tokens, 0, self._heads(progress)
        while wanted > 0:
            made = self._next_batch(heads, progress)
            self._backward(made, sums)
            read += made.tokens
            wanted -= made.input_ids.numel()
        self.begun = time.monotonic()
        tokens, seconds = self._averaged(read, self.begun - begun)
        self.tokens += round(tokens * dist.get_world_size())
        self.seconds += seconds
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser, rate in zip(self.optimisers, self.rates, strict=True):
            optimiser.param_groups[0]["lr"] = rate * self.plan.rate(progress, self.warm)
            optimiser.step()
            optimiser.zero_grad()
        self.steps += 1
        self.warm += 1
        return sums

    def _averaged(self, *numbers: float) -> list[float]:
        """Puts the mean gradients of all processes in the model; returns the means of the numbers."""
        given = [parameter.grad for parameter in self.model.parameters()]
        flat = torch.cat([gradient.flatten() for gradient in given] + [torch.tensor(numbers, device=self.device)])
        dist.all_reduce(flat)
        flat /= dist.get_world_size()
        for gradient, part in zip(given, flat.split([*(g.numel() for g in given), len(numbers)]), strict=False):
            gradient.copy_(part.view_as(gradient))
        return flat[-len(numbers) :].tolist()

    def _heads(self, progress: float) -> Heads:
        """What the rows of this step stand under: drawn alike in all processes, so that none waits for another."""
        phase, rng = self.plan.phase(progress), Random(f"{self.seed} {self.steps}")
        return (Heads.WHOLE if rng.random() < phase.whole else Heads.CUT) if rng.random() < phase.headed else Heads.NONE

    def _next_batch(self, heads: Heads, progress: float) -> Batch:
        """One of the waiting batches; those made together do not follow one another."""
        waiting, tokens = self.waiting[heads], self.plan.step_tokens // (3 if heads == Heads.NONE else 2)
        while len(waiting) < WAITING:
            waiting += batches(self.tokenizer, self.rng, self.plan.difficulty(progress), heads, tokens)
        return waiting.pop(self.rng.randrange(len(waiting)))

    def _backward(self, made: Batch, sums: dict[str, float]) -> None:
        made = made.to(self.device)
        weights = made.weights[:, 1:]
        wanted, weight = made.input_ids[:, 1:][weights > 0], weights[weights > 0]
        with torch.autocast(self.device, dtype=torch.bfloat16):
            found = seen(self.model, made)
        logits = found.logits
        losses = torch.nn.functional.cross_entropy(logits.float(), wanted, reduction="none")
        loss = (losses * weight).sum() / weight.sum()
        share = made.input_ids.numel() / self.plan.step_tokens
        looked = found.looked.mean() if len(found.looked) else torch.zeros(())
        ((loss + LOOKED_WEIGHT * looked) * share).backward()
        right, verdict = logits.argmax(-1) == wanted, weight == VERDICT_WEIGHT
        sums["loss"] += loss.item() * share
        sums["looked"] += looked.item() * share
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
    parser.add_argument("--start", type=Path, help="without a checkpoint: begin with the weights of this judge")
    parser.add_argument("--used", type=float, default=0.0, help="minutes that the judge of --start was trained before")
    parser.add_argument("--minutes", type=float, default=150.0, help="training stops after so many minutes")
    parser.add_argument("--tokens", type=int, default=60_000_000, help="or after so many tokens")
    parser.add_argument("--step-tokens", type=int, default=4000)
    parser.add_argument("--save-minutes", type=float, default=3.0)
    parser.add_argument("--muon-rate", type=float, default=2e-3)
    parser.add_argument("--adam-rate", type=float, default=1e-3)
    parser.add_argument("--processes", type=int, help="one per CPU core if not said, one with a GPU")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    processes = args.processes or (1 if torch.cuda.is_available() else len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory() as folder:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C, so that the processes end with this one
        torch.multiprocessing.spawn(work, (processes, f"file://{folder}/meeting", args), processes, daemon=True)


def work(rank: int, processes: int, meeting: str, args: argparse.Namespace) -> None:
    """One of the processes."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=processes)
    torch.set_num_threads(1)
    plan = Plan(args.tokens, args.minutes, args.step_tokens, args.muon_rate, args.adam_rate)
    state = torch.load(args.checkpoint, weights_only=False) if args.checkpoint.exists() else None
    start = (args.start / "tokenizer.json").read_text(encoding="utf-8") if args.start else None
    saved = state["tokenizer"] if state else start
    tokenizer = wrapped(saved) if saved else build_tokenizer()
    run = Training(plan, tokenizer, args.seed, "cuda" if torch.cuda.is_available() else "cpu")
    if state:
        run.restore(state)
    elif args.start:
        run.start_from(args.start, args.used)
    train(run, args.checkpoint, args.out, args.save_minutes)
    dist.destroy_process_group()


def train(run: Training, checkpoint: Path, out: Path, save_minutes: float) -> None:
    """Steps until the plan is used up, with a checkpoint and an export by the first process every `save_minutes`."""
    first, saved, totals = dist.get_rank() == 0, run.seconds, dict[str, float]()
    while run.plan.progress(run.tokens, run.seconds) < 1:
        for name, value in run.step().items():
            totals[name] = totals.get(name, 0.0) + value
        if run.steps % 50 == 0 and first:
            print(
                f"step {run.steps} tokens {run.tokens / 1e6:.2f}M minutes {run.seconds / 60:.1f} "
                f"loss {totals['loss'] / 50:.3f} looked {totals['looked'] / 50:.3f} "
                f"tokens right {totals['right'] / totals['all']:.3f} "
                f"verdicts right {totals['verdicts right'] / totals['verdicts']:.3f}",
                flush=True,
            )
            totals.clear()
        if first and run.seconds - saved > 60 * save_minutes:
            saved = run.seconds
            _save(run, checkpoint, out)
    if first:
        _save(run, checkpoint, out)


def _save(run: Training, checkpoint: Path, out: Path) -> None:
    torch.save(run.state(), checkpoint)
    export(run.model, run.tokenizer, out)


if __name__ == "__main__":
    main()
