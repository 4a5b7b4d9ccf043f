"""Trains the adapter: `python -m training.train --out run/training --hours 8 --replay PAIRS_FOLDER`.

The same command goes on from the last checkpoint. Every line of log.jsonl, and of standard output, is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from types import FrameType
from typing import Any

import torch
from redraft.engine.prompt import Prompter
from redraft.model.loading import DEMO, resolve
from transformers import AutoTokenizer

from training.checkpoint import Checkpoint, Progress
from training.examples import Example, Stream
from training.lora import Trainee

BASE_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
_WARMUP = 20  # steps
_CLIP = 1.0  # norm of the gradient


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for log, checkpoint and adapter")
    parser.add_argument("--hours", type=float, default=8.0, help="wall time of all sittings together; sets the decay")
    parser.add_argument("--steps", type=int, default=0, help="most steps; 0: as many as the hours allow")
    parser.add_argument("--replay", type=Path, nargs="*", default=[], help="JSON-lines files of pairs, or their folder")
    parser.add_argument("--model", default=DEMO, help="demo, a GGUF file or a folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument(
        "--decided-weight", type=float, default=8.0, help="of a changed token in the loss; a copied one: 1"
    )
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--alpha", type=int, default=32)
    parser.add_argument("--step-tokens", type=int, default=1536, help="prompt and answer tokens of one step, at least")
    parser.add_argument("--longest", type=int, default=1200, help="tokens of a document, roughly")
    parser.add_argument("--save-every", type=int, default=20, help="steps")
    parser.add_argument("--probe-every", type=int, default=100, help="steps between losses on held-out examples")
    parser.add_argument("--precision", choices=("auto", "bfloat16", "float32"), default="auto")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="examples at the same time")
    return parser.parse_args(arguments)


@dataclass(slots=True)
class Run:
    """One sitting of a training run."""

    asked: argparse.Namespace
    trainee: Trainee
    stream: Stream
    probe: list[Example]
    optimizer: torch.optim.Optimizer
    checkpoint: Checkpoint
    pool: ThreadPoolExecutor
    progress: Progress = field(default_factory=Progress)
    stopping: bool = False

    @property
    def done(self) -> float:
        """The share of the budget that is used, by time or by steps."""
        by_steps: float = self.progress.step / self.asked.steps if self.asked.steps else 0.0
        return min(1.0, max(by_steps, self.progress.seconds / float(self.asked.hours * 3600)))

    def train(self) -> None:
        """Step until the budget is used or a signal comes; save what was reached."""
        while self.done < 1.0 and not self.stopping:
            self.step()
            if self.progress.step % self.asked.save_every == 0:
                self.save()
            if self.progress.step % self.asked.probe_every == 0:
                copied, decided = self.held_out_losses()
                self.log(held_out_copied=round(copied, 5), held_out_decided=round(decided, 5))
        self.save()
        self.export()

    def step(self) -> None:
        """One optimizer step over at least `step_tokens` tokens."""
        begin = time.monotonic()
        batch = self.stream.batch(self.asked.step_tokens)
        rate = self.asked.lr * (1.0 - self.done) * min(1.0, (self.progress.step + 1) / _WARMUP)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self._descend(batch)
        taken = time.monotonic() - begin
        tokens = sum(len(example.ids) for example in batch)
        self._count(batch, tokens, taken)
        self.log(loss=round(loss, 5), rate=rate, examples=len(batch), tokens_per_second=round(tokens / taken, 1))

    def _descend(self, batch: list[Example]) -> float:
        """Weighted mean loss of a token. Each example is a pass of its own: no padding, any thread that is free."""
        weight = self.asked.decided_weight
        total_weight = sum(example.answer + (weight - 1) * len(example.decided) for example in batch)
        self.optimizer.zero_grad(set_to_none=True)
        longest_first = sorted(batch, key=lambda example: -len(example.ids))
        total = 0.0
        gradient = partial(self.trainee.gradient, weight=weight, total=total_weight)
        for loss, gradients in self.pool.map(gradient, longest_first):
            total += loss
            for parameter, part in zip(self.trainee.parameters, gradients, strict=True):
                parameter.grad = part if parameter.grad is None else parameter.grad.add_(part)
        torch.nn.utils.clip_grad_norm_(self.trainee.parameters, _CLIP)
        self.optimizer.step()
        return total

    def _count(self, batch: list[Example], tokens: int, taken: float) -> None:
        self.progress.step += 1
        self.progress.index = self.stream.index
        self.progress.tokens += tokens
        self.progress.answer_tokens += sum(example.answer for example in batch)
        self.progress.seconds += taken

    @torch.no_grad()
    def held_out_losses(self) -> tuple[float, float]:
        """Mean loss of a copied and of a decided token, on examples of the other side of the split."""
        begin = time.monotonic()
        copied, decided = [], []
        for example in self.probe:
            for place, loss in enumerate(self.trainee.losses(example).tolist()):
                (decided if place in example.decided else copied).append(loss)
        self.progress.seconds += time.monotonic() - begin
        return fmean(copied or [0.0]), fmean(decided or [0.0])

    def save(self) -> None:
        """Write the checkpoint; its time counts."""
        begin = time.monotonic()
        self.checkpoint.save(self.progress, self.optimizer, self.trainee.save)
        self.progress.seconds += time.monotonic() - begin

    def export(self) -> None:
        """Write the adapter as it is shipped: half precision."""
        folder: Path = self.asked.out / "adapter"
        folder.mkdir(parents=True, exist_ok=True)
        self.trainee.save(folder, torch.float16)
        self.log(adapter=str(folder), finished=self.done >= 1.0)

    def log(self, **facts: Any) -> None:
        """One JSON line on standard output and in log.jsonl."""
        reached = self.progress
        line = json.dumps(
            {"step": reached.step, "tokens": reached.tokens, "answer_tokens": reached.answer_tokens}
            | {"hours": round(reached.seconds / 3600, 4)}
            | facts
        )
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        with (self.asked.out / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def start(asked: argparse.Namespace) -> Run:
    """Load the model and the sources, and the last checkpoint if there is one."""
    # A thread an example: OpenMP's threads wait for each other by spinning, which is lost time on a busy machine.
    torch.set_num_threads(1)
    torch.manual_seed(asked.seed)
    asked.out.mkdir(parents=True, exist_ok=True)
    folder = resolve(asked.model)
    name = BASE_NAME if asked.model == DEMO else asked.model
    trainee = Trainee(folder, asked.rank, asked.alpha, asked.precision, name)
    optimizer = torch.optim.AdamW(trainee.parameters, lr=asked.lr, betas=(0.9, 0.99), weight_decay=0.0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompter, end = Prompter(tokenizer), int(tokenizer.eos_token_id)
    stream = Stream.open(asked.replay, prompter, end, asked.seed, asked.longest, evaluation=False)
    probe = Stream.open(asked.replay, prompter, end, asked.seed, min(asked.longest, 400), evaluation=True)
    pool = ThreadPoolExecutor(asked.threads, initializer=torch.set_num_threads, initargs=(1,))
    run = Run(asked, trainee, stream, probe.batch(6000), optimizer, Checkpoint(asked.out), pool)
    found = run.checkpoint.restore(optimizer, trainee.load)
    if found is not None:
        run.progress, stream.index = found, found.index
    return run


def main() -> None:
    """Train as the command line says."""
    run = start(options())

    def stop(number: int, frame: FrameType | None) -> None:
        run.stopping = True  # after this step, with a checkpoint

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    parameters = sum(parameter.numel() for parameter in run.trainee.parameters)
    run.log(precision=run.trainee.precision, threads=run.asked.threads, adapter_parameters=parameters)
    run.train()


if __name__ == "__main__":
    main()
