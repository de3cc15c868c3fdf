"""Training that is killed and resumed."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lexigraft.errors import LexigraftError
from lexigraft.training.checkpoints import Checkpoints
from lexigraft.training.resume import ResumableTrainer, isolated_randomness, training_arguments

STEPS, BATCH = 40, 4


class Numbers(torch.utils.data.Dataset):
    """Item i is a function of i."""

    def __len__(self) -> int:
        return STEPS * BATCH

    def __getitems__(self, indices: list[int]) -> dict[str, Tensor]:
        x = torch.tensor(indices, dtype=torch.float32)[:, None] / 160
        return {"x": torch.cat([x, x.sin(), x.cos()], 1), "y": 3 * x}


class Net(nn.Module):
    """With dropout, so that the state of the random number generator matters."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.net = nn.Sequential(nn.Linear(3, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 1))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(generator=generator)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.net(x) - y).pow(2).mean()


class InterruptError(Exception):
    pass


class Trainer(ResumableTrainer):
    """Dies before a given step, by an exception or as a killed process does."""

    die_at = -1
    kill = False

    def training_step(self, *arguments: object, **options: object) -> Tensor:
        if self.state.global_step == self.die_at:
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise InterruptError
        return super().training_step(*arguments, **options)


def trainer(folder: Path, *, net: nn.Module | None = None, **identity: object) -> Trainer:
    arguments = training_arguments(
        folder,
        steps=STEPS,
        batch_size=BATCH,
        learning_rate=1e-2,
        warmup_steps=4,
        weight_decay=0.01,
        schedule="cosine",
        seed=3,
        logging_steps=2,
        save_steps=10,
    )
    return Trainer(
        net or Net(), arguments, Numbers(), identity={"run": 1, **identity}, description="toy"
    )


def weights(made: ResumableTrainer) -> bytes:
    return b"".join(p.detach().numpy().tobytes() for p in made.model.parameters())


def interrupt(folder: Path, step: int) -> None:
    made = trainer(folder)
    made.die_at = step
    with pytest.raises(InterruptError):
        made.fit()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    made = trainer(folder)
    made.fit()
    return weights(made), (folder / "training.jsonl").read_text()


@pytest.mark.parametrize("stops", [(27,), (5, 13, 30), (10,)])
def test_resumed_training_ends_with_the_same_bits_and_log(
    undisturbed: tuple[bytes, str], stops: tuple[int, ...], tmp_path: Path
) -> None:
    for step in stops:
        interrupt(tmp_path, step)
    made = trainer(tmp_path)
    history = made.fit()
    log = (tmp_path / "training.jsonl").read_text()
    assert (weights(made), log) == undisturbed
    assert [record["step"] for record in history] == list(range(2, STEPS + 1, 2))
    assert [json.loads(line)["step"] for line in log.splitlines()] == list(range(2, STEPS + 1, 2))


@pytest.mark.slow
def test_killed_process(undisturbed: tuple[bytes, str], tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; import test_resume as t\n"
        "made = t.trainer(Path(sys.argv[1])); made.die_at, made.kill = int(sys.argv[2]), True\n"
        "made.fit(); sys.stdout.buffer.write(t.weights(made))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    outcomes = [
        subprocess.run(
            [sys.executable, "-c", script, tmp_path, step], env=environment, capture_output=True
        )
        for step in ("23", "-1")
    ]
    assert [outcome.returncode for outcome in outcomes] == [-signal.SIGKILL, 0]
    assert outcomes[1].stdout == undisturbed[0]
    assert (tmp_path / "training.jsonl").read_text() == undisturbed[1]


def test_finished_training_is_not_repeated(undisturbed: tuple[bytes, str], tmp_path: Path) -> None:
    trainer(tmp_path).fit()
    again = trainer(tmp_path)
    again.die_at = 0
    again.fit()
    assert weights(again) == undisturbed[0]


def test_only_the_newest_two_checkpoints_stay(tmp_path: Path) -> None:
    interrupt(tmp_path, 35)
    assert sorted(p.name for p in tmp_path.glob("checkpoint-*")) == [
        "checkpoint-20",
        "checkpoint-30",
    ]


def test_half_written_checkpoint_is_removed_and_said(
    undisturbed: tuple[bytes, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    interrupt(tmp_path, 25)
    half = tmp_path / "checkpoint-20"
    (half / "whole.json").unlink()
    (half / "optimizer.pt").write_bytes(b"half")
    made = trainer(tmp_path)
    with caplog.at_level(logging.INFO, "lexigraft"):
        made.fit()
    assert any("checkpoint-20: removed" in message for message in caplog.messages)
    assert weights(made) == undisturbed[0]


@pytest.mark.parametrize(
    ("file", "harm", "problem"),
    [
        ("optimizer.pt", lambda b: b[:-7], "bytes"),
        ("model.safetensors", lambda b: b[:-1] + bytes([b[-1] ^ 1]), "differs"),
        ("rng_state.pth", None, "missing"),
    ],
)
def test_corrupt_checkpoint_is_refused(
    file: str, harm: object, problem: str, tmp_path: Path
) -> None:
    interrupt(tmp_path, 25)
    path = tmp_path / "checkpoint-20" / file
    if harm is None:
        path.unlink()
    else:
        path.write_bytes(harm(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(LexigraftError, match=rf"checkpoint-20: corrupt checkpoint \({file} .*"):
        trainer(tmp_path).fit()
    with pytest.raises(LexigraftError, match=problem):
        trainer(tmp_path).fit()


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("run.json", "{", r"run\.json: not valid JSON .*; remove .* to start again"),
        ("run.json", "[]", r"run\.json: list found.*; remove .* to start again"),
        ("checkpoint-20/whole.json", "{", r"whole\.json: not valid JSON .*; remove that folder"),
        ("checkpoint-20/whole.json", "{}", r"whole\.json lists no files\); remove that folder"),
        (
            "checkpoint-20/whole.json",
            '{"model.safetensors": 3}',
            r"whole\.json does not say what model\.safetensors was\); remove that folder",
        ),
    ],
)
def test_a_corrupt_record_says_what_to_remove(
    tmp_path: Path, file: str, text: str, told: str
) -> None:
    interrupt(tmp_path, 25)
    (tmp_path / file).write_text(text)
    with pytest.raises(LexigraftError, match=told):
        trainer(tmp_path).fit()


def test_checkpoints_of_another_run_are_refused(tmp_path: Path) -> None:
    interrupt(tmp_path, 15)
    with pytest.raises(LexigraftError, match=r"another run \(run 1, now 2\)"):
        trainer(tmp_path, run=2).fit()
    (tmp_path / "run.json").unlink()
    with pytest.raises(LexigraftError, match=r"no run\.json"):
        trainer(tmp_path).fit()


def test_identity_is_compared_as_json(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path, {"shares": (0.8, 0.2)}).open() is None
    assert Checkpoints(tmp_path, {"shares": [0.8, 0.2]}).open() is None


def test_loss_that_is_no_number_stops_with_its_step(tmp_path: Path) -> None:
    class Diverging(Net):
        calls = 0

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            self.calls += 1
            return super().forward(x, y) * (float("nan") if self.calls == 20 else 1)

    with pytest.raises(LexigraftError, match="loss became nan between steps 19 and 20"):
        trainer(tmp_path, net=Diverging()).fit()
    assert [p.name for p in tmp_path.glob("checkpoint-*")] == ["checkpoint-10"]


def test_global_generators_are_left_alone() -> None:
    torch.manual_seed(5), np.random.seed(5), random.seed(5)
    expected = torch.rand(1).item(), np.random.rand(), random.random()
    torch.manual_seed(5), np.random.seed(5), random.seed(5)
    with isolated_randomness(1):
        torch.rand(9), np.random.rand(9), random.random()
    assert (torch.rand(1).item(), np.random.rand(), random.random()) == expected


@pytest.mark.parametrize(
    ("batch", "micro", "message"), [(8, 3, "cannot be split"), (0, 0, "batch_size: 0 found")]
)
def test_batches_that_cannot_be_split(batch: int, micro: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match=message):
        training_arguments(
            tmp_path,
            steps=10,
            batch_size=batch,
            micro_batch_size=micro,
            learning_rate=1e-3,
            warmup_steps=0,
            weight_decay=0,
            schedule="linear",
            seed=0,
        )


@pytest.mark.parametrize("steps", [1, 7, 333, 1000, 150_000])
def test_checkpoints_fall_on_logged_steps(steps: int, tmp_path: Path) -> None:
    made = training_arguments(
        tmp_path,
        steps=steps,
        batch_size=1,
        learning_rate=1e-3,
        warmup_steps=0,
        weight_decay=0,
        schedule="linear",
        seed=0,
    )
    assert made.save_steps % made.logging_steps == 0
    assert made.save_steps <= 1000
