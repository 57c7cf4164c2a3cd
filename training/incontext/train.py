"""Train the in-context network, in pieces that go on from one another.

``python -m training.incontext.train --minutes 9 --out DIR [--resume DIR]``

A piece uses its minutes exactly and leaves in DIR: ``weights.npz`` (half precision, averaged over
steps; what the package ships), ``state-*.npz`` (what the next piece goes on from), ``card.md`` and
``log.jsonl``. Where the state is lost, or was never shipped, ``--resume`` takes a folder with
``weights.npz`` alone (the package's own): averaged weights, without the optimiser's moments. The
learning rate follows a cosine over the progress from 0 to 1; a piece covers the
part up to ``--until``, by time, or by steps where ``--steps`` is given (then a run is repeatable up
to the rounding of the device).
"""

import argparse
import contextlib
import copy
import hashlib
import json
import math
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.incontext.columns import N_COLUMNS, read_tables
from training.incontext.measure import GROUP_WEIGHT, held_out, losses, measure
from training.incontext.network import InContextNetwork
from training.incontext.prior import KINDS, SHAPES, Draw, Shape, Tables, make_tables

__all__ = ["Trainer", "main"]

START = time.monotonic()
#: Steps whose tables are made at once.
CHUNK = 8
SHAPE_WEIGHTS = (0.2, 0.26, 0.26, 0.18, 0.1)
AVERAGE = 0.999
SMOKE_SHAPES = (Shape(64, 16, 12), Shape(128, 32, 6))
SMOKE_SIZES = {"width": 32, "n_blocks": 2, "n_heads": 2, "n_hidden": 64}


class Trainer:
    """Network, optimiser, average of weights, and the stream of tables."""

    def __init__(
        self,
        *,
        seed: int,
        device: str,
        shapes: tuple[Shape, ...],
        sizes: dict[str, int],
        learning_rate: float,
        compiled: bool,
        warm_steps: int = 600,
    ) -> None:
        torch.manual_seed(seed)
        self.seed, self.device, self.shapes = seed, device, shapes
        self.learning_rate, self.warm_steps = learning_rate, warm_steps
        self.step = 0
        self.chunk = 0
        self.progress = 0.0
        self.pieces: list[dict[str, Any]] = []
        self.without_moments = True
        self.network = InContextNetwork(**sizes).to(device)
        self.average = copy.deepcopy(self.network).eval().requires_grad_(False)
        if compiled:
            _compile(self.network)
        matrices = [p for p in self.network.parameters() if p.ndim > 1]
        others = [p for p in self.network.parameters() if p.ndim <= 1]
        self.fused = device == "cuda"
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": 0.02}, {"params": others, "weight_decay": 0.0}],
            lr=learning_rate,
            betas=(0.9, 0.98),
            fused=self.fused,
        )
        self._tables: Tables | None = None
        self._draw: Draw | None = None
        self._shape = shapes[0]
        self._place = 0
        self.seconds_making = 0.0

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda")

    def next_tables(self) -> Tables:
        """The tables of the next step; those of a chunk of steps are made at once."""
        if self._tables is None or self._place >= len(self._tables):
            weights = SHAPE_WEIGHTS[: len(self.shapes)]
            choice = random.Random(self.seed * 7_919 + self.chunk)
            self._shape = choice.choices(self.shapes, weights)[0]
            n_tables = CHUNK * self._shape.n_tables
            self._tables = make_tables(self.seed, self.chunk, self._shape, n_tables, self.device)
            self._draw = Draw(self.seed + 500_009, self.chunk, self.device)
            self._place = 0
            self.chunk += 1
        start = self._place
        self._place += self._shape.n_tables
        return self._tables.part(start, self._place)

    def train_step(self, rate: float) -> tuple[torch.Tensor, torch.Tensor]:
        """One step; returns the losses of rows and groups, still on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        began = time.perf_counter()
        tables = self.next_tables()
        assert self._draw is not None
        batch = read_tables(tables, self._draw)
        self.seconds_making += time.perf_counter() - began
        with self.autocast():
            row, group_ = self.network(batch)
        of_rows, of_groups = losses(row, group_, tables)
        (of_rows + GROUP_WEIGHT * of_groups).backward()
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self._update(norm)
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        kept = min(AVERAGE, self.step / (self.step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(
                list(self.average.parameters()), list(self.network.parameters()), 1 - kept
            )
        return of_rows.detach(), of_groups.detach()

    def _update(self, norm: torch.Tensor) -> None:
        """A step of the optimiser, unless the gradient is not finite."""
        if self.fused:  # the kernel itself looks, so that nothing waits for the device
            self.optimizer.found_inf = (~torch.isfinite(norm)).float()  # type: ignore[attr-defined]
            self.optimizer.step()
        elif torch.isfinite(norm):
            self.optimizer.step()

    def rate(self, in_piece: int) -> float:
        """Learning rate: warm-up at the start of a piece, cosine over the progress."""
        warm = self.warm_steps if self.without_moments else self.warm_steps // 4
        cosine = 0.5 * (1 + math.cos(math.pi * min(self.progress, 1.0)))
        return self.learning_rate * min(1.0, (in_piece + 1) / max(warm, 1)) * (0.02 + 0.98 * cosine)

    def save(self, out: Path, meta: dict[str, Any]) -> None:
        """Weights of the package, state of the training and card; each file below 16 MiB."""
        out.mkdir(parents=True, exist_ok=True)
        named = {name: _numpy(value) for name, value in self.average.state_dict().items()}
        half = {name: value.astype(np.float16) for name, value in named.items()}
        meta = meta | {"sizes": self.network.sizes, "n_columns": N_COLUMNS, "kinds": list(KINDS)}
        _savez(out / "weights.npz", half | {"meta": np.array(json.dumps(meta))})
        names = [name for name, _ in self.network.named_parameters()]
        values = {name: _numpy(value) for name, value in self.network.named_parameters()}
        moments = {}
        for name, parameter in self.network.named_parameters():
            state = self.optimizer.state.get(parameter, {})
            if "exp_avg_sq" in state:  # first moments come back within a few steps
                moments[name] = _numpy(state["exp_avg_sq"].bfloat16().view(torch.int16))
        state = {
            "step": self.step,
            "chunk": self.chunk,
            "progress": self.progress,
            "seed": self.seed,
        }
        state["pieces"] = meta["pieces"]
        cut = len(names) // 2
        _savez(out / "state-0.npz", {name: values[name] for name in names[:cut]})
        _savez(out / "state-1.npz", {name: values[name] for name in names[cut:]})
        _savez(out / "state-2.npz", moments | {"meta": np.array(json.dumps(state))})
        (out / "card.md").write_text(_card(meta), encoding="utf-8")

    def resume(self, folder: Path) -> None:
        """Go on from what :meth:`save` left, or from the weights of the package alone."""
        if not (folder / "state-2.npz").exists():
            self._resume_weights(folder / "weights.npz")
            return
        values: dict[str, np.ndarray] = {}
        for part in ("state-0.npz", "state-1.npz"):
            with np.load(folder / part) as stored:
                values |= {name: stored[name] for name in stored.files}
        with np.load(folder / "state-2.npz") as stored:
            state = json.loads(str(stored["meta"]))
            moments = {name: stored[name] for name in stored.files if name != "meta"}
        with np.load(folder / "weights.npz") as stored:
            half = {name: stored[name] for name in stored.files if name != "meta"}
        self.step, self.chunk = state["step"], state["chunk"]
        self.progress, self.pieces = state["progress"], state["pieces"]
        self.without_moments = False
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                parameter.copy_(torch.from_numpy(values[name]))
                if name in moments:
                    second = torch.from_numpy(moments[name]).view(torch.bfloat16).float()
                    self.optimizer.state[parameter] = {
                        "step": torch.tensor(
                            float(self.step), device=self.device if self.fused else "cpu"
                        ),
                        "exp_avg": torch.zeros_like(parameter),
                        "exp_avg_sq": second.to(self.device),
                    }
            for name, parameter in self.average.named_parameters():
                parameter.copy_(torch.from_numpy(half[name].astype(np.float32)))

    def _resume_weights(self, path: Path) -> None:
        """Averaged weights in half precision, later tables, moments from nothing."""
        with np.load(path) as stored:
            meta = json.loads(str(stored["meta"]))
            half = {name: stored[name] for name in stored.files if name != "meta"}
        self.step, self.pieces, self.progress = meta["steps"], meta["pieces"], 1.0
        self.chunk = meta["steps"]  # a chunk is several steps: all tables are new ones
        self.without_moments = True
        with torch.no_grad():
            for network in (self.network, self.average):
                for name, parameter in network.named_parameters():
                    parameter.copy_(torch.from_numpy(half[name].astype(np.float32)))


def _compile(network: InContextNetwork) -> None:
    """Compile the block once for each shape; fall back on plain torch where that fails."""
    config = torch._dynamo.config
    config.suppress_errors = True
    for name in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit"):
        with contextlib.suppress(Exception):
            setattr(config, name, 64)
    for block in network.blocks:
        block.compile(dynamic=False)


def _numpy(value: torch.Tensor) -> np.ndarray:
    return value.detach().cpu().numpy()


def _savez(path: Path, arrays: dict[str, np.ndarray]) -> None:
    other = path.with_name(path.name + ".part.npz")
    np.savez(other, **arrays)
    other.replace(path)


def _source_hash() -> str:
    """A name of prior, columns and network as they were."""
    folder = Path(__file__).parent
    text = "".join((folder / name).read_text() for name in ("prior.py", "columns.py", "network.py"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _commit() -> str:
    with contextlib.suppress(Exception):
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
        return done.stdout.strip()
    return "unknown"


def _card(meta: dict[str, Any]) -> str:
    pieces = "\n".join(
        f"| {n} | {p['commit']} | {p['steps']} | {p['minutes']:.1f} | {p['device']} |"
        for n, p in enumerate(meta["pieces"], 1)
    )
    checks = "\n".join(f"| {name} | {value:.4f} |" for name, value in meta["held_out"].items())
    return f"""# Weights of the in-context network

- Made by `python -m training.incontext.train`, seed {meta["seed"]}, {meta["steps"]} steps,
  {meta["tables"]:,} made-up tables.
- Prior, columns and network: source hash `{meta["source"]}` (`training/incontext/`).
- Network: {meta["n_parameters"]:,} parameters, {json.dumps(meta["sizes"])};
  weights averaged over steps, half precision.
- Data: made-up tables only. No real table entered the training.
- Licence: BSD-3-Clause, like the package.

| piece | commit | steps | minutes | device |
| --- | --- | --- | --- | --- |
{pieces}

Held-out made-up tables (fixed seed), rows and groups whose label is not shown:

| measure | value |
| --- | --- |
{checks}
"""


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=9.0, help="wall time of this piece")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="folder with the state of the last piece")
    parser.add_argument("--start", type=float, help="progress to go on from (as it was left)")
    parser.add_argument("--until", type=float, help="progress at the end (0.5, then 1)")
    parser.add_argument("--steps", type=int, help="steps of this piece instead of its minutes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=8e-4)
    parser.add_argument("--commit", help="default: asked of git")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--log-every", type=int, default=250)
    parser.add_argument("--measure-seconds", type=float, default=75.0)
    parser.add_argument("--smoke", action="store_true", help="20 small steps, to see that it runs")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Run one piece; returns the measures of the held-out tables."""
    options = _arguments(arguments)
    began = time.monotonic() if arguments is not None else START
    shapes, sizes = (SMOKE_SHAPES, SMOKE_SIZES) if options.smoke else (SHAPES, {})
    if options.smoke and options.steps is None:
        options.steps = 20
    trainer = Trainer(
        seed=options.seed,
        device=options.device,
        shapes=shapes,
        sizes=sizes,
        learning_rate=options.rate,
        compiled=options.device == "cuda" and not options.no_compile,
        warm_steps=600 if options.steps is None else min(600, options.steps // 10),
    )
    if options.resume is not None:
        trainer.resume(options.resume)
    if options.start is not None:
        trainer.progress = options.start
    until = options.until or (0.5 if options.resume is None else 1.0)
    fixed = list(held_out(shapes[1:3] if len(shapes) > 2 else shapes, 2, options.device))
    piece = {
        "commit": options.commit or _commit(),
        "steps": 0,
        "minutes": 0.0,
        "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu",
    }
    log = _Log(options.out, began)
    n_parameters = sum(p.numel() for p in trainer.network.parameters())
    log(event="start", parameters=n_parameters, step=trainer.step, source=_source_hash(), **piece)

    def finish() -> dict[str, float]:
        found = measure(trainer.average, fixed, trainer.autocast())
        piece["steps"], piece["minutes"] = trainer.step - first, (time.monotonic() - began) / 60
        trainer.save(
            options.out,
            {
                "seed": trainer.seed,
                "steps": trainer.step,
                "tables": seen + sum(p.get("tables", 0) for p in trainer.pieces),
                "source": _source_hash(),
                "n_parameters": n_parameters,
                "pieces": [*trainer.pieces, piece | {"tables": seen}],
                "held_out": found,
            },
        )
        log(event="measure", step=trainer.step, **found)
        return found

    first, seen = trainer.step, 0
    log.last = first
    at_start = trainer.progress
    reserve = min(25.0, 6.0 * options.minutes)
    ready = time.monotonic()
    end = began + 60 * options.minutes - reserve
    next_measure = ready + options.measure_seconds
    sums = torch.zeros(2, device=options.device)
    while True:
        done = trainer.step - first
        if done % 10 == 0 and options.device == "cuda":
            torch.cuda.synchronize()
        now = time.monotonic()
        part = done / options.steps if options.steps else (now - ready) / max(end - ready, 1e-9)
        if part >= 1 or (now >= end and not options.smoke):
            break
        trainer.progress = at_start + (until - at_start) * part
        rate = trainer.rate(done)
        pair = trainer.train_step(rate)
        sums += torch.stack(pair)
        seen += trainer._shape.n_tables
        if trainer.step % options.log_every == 0 or options.smoke or done in (20, 100):
            log.steps(trainer, rate, sums)
            sums.zero_()
        if now >= next_measure:
            finish()
            next_measure = time.monotonic() + options.measure_seconds
    trainer.progress = at_start + (until - at_start) * min(1.0, part)
    found = finish()
    log(event="end", step=trainer.step, seconds_in_all=time.monotonic() - began)
    return found


class _Log:
    """Lines for people on standard output, lines for programs in ``log.jsonl``."""

    def __init__(self, out: Path, began: float) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.path, self.began = out / "log.jsonl", began
        self.path.write_text("")
        self.last = 0
        self.at = time.monotonic()
        self.making = 0.0

    def __call__(self, **values: Any) -> None:
        values = {"seconds": round(time.monotonic() - self.began, 1)} | values
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")
        shown = (f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in values.items())
        print(" ".join(shown), flush=True)

    def steps(self, trainer: Trainer, rate: float, sums: torch.Tensor) -> None:
        """Losses since the last line; milliseconds per step, of which to order tables."""
        n = trainer.step - self.last
        of_rows, of_groups = (sums / n).tolist()
        now = time.monotonic()
        self(
            step=trainer.step,
            row_loss=of_rows,
            group_loss=of_groups,
            ms_step=1000 * (now - self.at) / n,
            ms_making=1000 * (trainer.seconds_making - self.making) / n,
            rate=rate,
            progress=trainer.progress,
        )
        self.last, self.at, self.making = trainer.step, now, trainer.seconds_making


if __name__ == "__main__":
    main()
