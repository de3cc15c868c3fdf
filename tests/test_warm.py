"""Jobs that a warm process forks: they do, say and end as commands that import for themselves."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lexigraft import warm
from lexigraft.files import sha256_file
from lexigraft.locks import alone
from tiny_retrieval import tiny_collection, tiny_model

WORKFLOW = """
import os, sys
from lexigraft import warm
warm.keep()
print(os.environ[warm.VARIABLE], flush=True)
sys.stdin.read()
"""
SNAKEFILE = """
from lexigraft.warm import keep
onstart:
    keep()
rule all:
    output: "code"
    shell:
        "until ls $LEXIGRAFT_WARM/*; do sleep 1; done; "
        "python -c 'import sys; from lexigraft.warm import borrow; sys.argv[1:] = []; "
        "print(borrow())' > {output}"
"""
COMMAND = [sys.executable, "-m", "lexigraft"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def workflow() -> Iterator[dict[str, str]]:
    """The environment of its jobs; when it ends, the process ends too and leaves nothing."""
    command = [sys.executable, "-c", WORKFLOW]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        until(lambda: any(folder.iterdir()))
        yield {**warm.job_environment(), warm.VARIABLE: str(folder)}
        process.stdin.close()  # type: ignore[union-attr]
    until(lambda: not folder.exists())


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("material")
    tiny_model(folder / "model")
    tiny_collection(folder / "corpus")
    return folder


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def finetune(material: Path, out: Path, steps: int) -> list[str]:
    words = f"--objective info_nce --negatives 0 --batch-size 8 --steps {steps} --warmup-steps 2"
    lengths = "--flops-ramp-steps 5 --query-length 16 --document-length 16"
    folders = ["--model", str(material / "model"), "--corpus", str(material / "corpus")]
    return [*COMMAND, "finetune", *folders, *words.split(), *lengths.split(), "--out", str(out)]


def test_a_fork_trains_the_same_weights_sooner(material, workflow, tmp_path) -> None:
    seconds = {}
    for name, environment in {"warm": workflow, "cold": {**workflow, warm.VARIABLE: ""}}.items():
        start = time.monotonic()
        command = finetune(material, tmp_path / name, 10)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        seconds[name] = time.monotonic() - start
        assert f"{name}: done in" in done.stderr
    one, two = (sha256_file(tmp_path / name / "model.safetensors") for name in seconds)
    assert one == two
    assert seconds["warm"] < seconds["cold"] - 1


def test_folder_sentence_and_code_are_those_of_the_command(workflow, tmp_path) -> None:
    command = [*COMMAND, "retrieve", "--collection", "corpus", "--out", "out"]
    done = subprocess.run(command, env=workflow, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("error: --collection: no such folder: corpus\n")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -9)],
)
def test_a_signal_ends_the_fork(material, workflow, tmp_path, number, code) -> None:
    out = tmp_path / "out"
    with subprocess.Popen(finetune(material, out, 100_000), env=workflow) as process:
        until(lambda: any(tmp_path.glob(".out.checkpoints/*")))
        process.send_signal(number)
        assert process.wait(timeout=20) == code
    # Its lock is free at once: the same command goes on, and is not kept waiting.
    start = time.monotonic()
    with alone(out):
        assert time.monotonic() - start < 5
    assert not out.exists()


def test_a_job_outlives_a_killed_workflow_and_says_how_it_ended(material, tmp_path) -> None:
    command = [sys.executable, "-c", WORKFLOW]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        folder = Path(process.stdout.readline().strip())  # type: ignore[union-attr]
        until(lambda: any(folder.iterdir()))
        environment = {**warm.job_environment(), warm.VARIABLE: str(folder)}
        job = subprocess.Popen(finetune(material, tmp_path / "out", 300), env=environment)
        until(lambda: any(tmp_path.glob(".out.lock")))
        process.kill()
    assert not (tmp_path / "out").exists()
    assert job.wait(timeout=120) == 0
    assert (tmp_path / "out" / "model.safetensors").is_file()


SHELL = "import os, sys; from lexigraft.warm import borrow; {}; print(borrow(), file=sys.stderr)"


@pytest.mark.parametrize(
    "change",
    [
        "os.environ['OMP_NUM_THREADS'] = '2'",
        "os.environ['HF_HUB_OFFLINE'] = 'no'",
        "os.environ['LEXIGRAFT_WARM'] += '/gone'",
        "os.environ['LEXIGRAFT_WARM'] = ''",
        "os.umask(0o077)",
        "os.nice(1)",
        "os.close(0)",
        "os.close(1)",
        "sys.prefix += '/other'",
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
    ],
)
def test_in_other_circumstances_a_command_imports_for_itself(workflow, change: str) -> None:
    command = [sys.executable, "-c", SHELL.format(change), "corpus", "--help"]
    done = subprocess.run(command, env=workflow, capture_output=True, text=True)
    assert done.stderr == "None\n"
    command[2] = SHELL.format("pass")
    done = subprocess.run(command, env=workflow, capture_output=True, text=True)
    assert done.stderr == "0\n"


def test_a_job_of_a_workflow_is_in_the_circumstances(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    subprocess.run(command, cwd=tmp_path, check=True, env=os.environ | {"OMP_NUM_THREADS": ""})
    assert (tmp_path / "code").read_text() == "2\n"
