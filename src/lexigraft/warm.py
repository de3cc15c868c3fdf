"""Warm starts: a workflow's jobs on one machine are forked from a process that has imported torch.

To import torch and transformers takes some five seconds, more than many jobs of the small scales
work. So a workflow keeps one process that has done it (`keep`), and a command that finds it becomes
the remote control of a fork (`borrow`): the fork has the command's arguments, folder and open
files, gets its signals, dies with it, and its exit code is the command's. A command in other
`circumstances` than that process, or without one, imports what it needs itself. Linux, by pidfd.
"""

import contextlib
import gc
import hashlib
import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from threading import Thread

VARIABLE = "LEXIGRAFT_WARM"
"""Folder of the sockets of a workflow's warm processes, each named by its circumstances."""
SHELLS_OWN = {VARIABLE, "PWD", "OLDPWD", "SHLVL", "_"}
THREADS = ("OMP", "GOTO", "OPENBLAS", "MKL", "NUMEXPR")
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STREAMS = (0, 1, 2)
HEADER_BYTES = 8
ARCHITECTURES = ("bert", "modernbert", "roberta")


def circumstances() -> str:
    """A hash of what a process has of its parent and keeps, or libraries read when they are
    imported: environment, limits, processors, priority, umask, ignored signals; and the Python."""
    os.umask(mask := os.umask(0))
    limits = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    facts = [
        sys.prefix,
        sorted((name, value) for name, value in os.environ.items() if name not in SHELLS_OWN),
        [resource.getrlimit(getattr(resource, name)) for name in limits],
        sorted(os.sched_getaffinity(0)),
        os.getpriority(os.PRIO_PROCESS, 0),
        mask,
        [signal.getsignal(number) == signal.SIG_IGN for number in FORWARDED],
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def keep() -> None:
    """Start the process for jobs of one thread that this process starts; it ends when this does.

    Where temporary files cannot be written, it says so, and jobs import for themselves.
    """
    try:
        folder = tempfile.mkdtemp(prefix="lexigraft-")  # Nobody else may open it.
    except OSError as error:
        print(f"no warm starts: {error}", file=sys.stderr)
        return
    os.environ[VARIABLE] = folder
    subprocess.Popen(
        # -P: no module of the folder where the workflow is run.
        [sys.executable, "-P", "-m", __name__, folder, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        env=job_environment(),
    )


def job_environment() -> dict[str, str]:
    """The environment that Snakemake gives to a job of one thread."""
    threads = {f"{name}_NUM_THREADS": "1" for name in THREADS} | {"VECLIB_MAXIMUM_THREADS": "1"}
    folders = dict.fromkeys(("TMPDIR", "TMP", "TEMPDIR", "TEMP"), tempfile.gettempdir())
    return {**os.environ, **threads, **folders}


def borrow() -> int | None:
    """Have this command done by a fork and return its exit code; None where there is no process."""
    if not (folder := os.environ.get(VARIABLE)):
        return None
    with socket.socket(socket.AF_UNIX) as link:
        if link.fileno() in STREAMS:
            return None  # One of them is closed.
        try:
            link.connect(f"{folder}/{circumstances()}")
            request = json.dumps([os.getcwd(), dict(os.environ), sys.argv]).encode()
            header = len(request).to_bytes(HEADER_BYTES, "big")
            socket.send_fds(link, [header], STREAMS)
            link.sendall(request)
            answers = link.makefile("r")
            if not (pid := answers.readline()):
                return None
        except OSError:
            return None

        def forward(number: int, _: object) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(pid), number)

        for number in FORWARDED:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, forward)
        if not (code := answers.readline()):
            print("error: the process that forks the jobs was killed", file=sys.stderr)
            return 1
        return int(code)


def _serve(listener: socket.socket, workflow: int) -> socket.socket | None:
    """Fork for each request until the workflow ends: its socket in a fork, None at the end.

    Jobs that a killed workflow has left are waited for, as their commands do.
    """
    links: dict[int, tuple[int, socket.socket]] = {}
    with selectors.PollSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        end = os.pidfd_open(workflow)
        selector.register(end, selectors.EVENT_READ)
        while links or end in selector.get_map():
            for key, _ in selector.select():
                if key.fd == end:
                    selector.unregister(end)
                    selector.unregister(listener)
                    listener.close()
                elif key.fileobj is listener:
                    link, _ = listener.accept()
                    try:
                        pid = os.fork()
                    except OSError:
                        link.close()  # The command then imports for itself.
                        continue
                    if pid == 0:
                        for _, other in links.values():
                            other.close()
                        return link
                    with contextlib.suppress(OSError):
                        os.setpgid(pid, pid)
                    _say(link, pid)
                    links[watch := os.pidfd_open(pid)] = pid, link
                    selector.register(watch, selectors.EVENT_READ)
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    pid, link = links.pop(key.fd)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    _say(link, code if code >= 0 else 128 - code)
                    link.close()
    return None


def _say(link: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # The command is gone.
        link.sendall(f"{number}\n".encode())


def _become(link: socket.socket) -> None:
    """Take over a command: its open files, folder, environment and arguments."""
    import numpy as np

    os.setpgid(0, 0)  # What a terminal sends to the command's group comes by the command, once.
    header, files, _, _ = socket.recv_fds(link, HEADER_BYTES, len(STREAMS))
    if len(files) < len(STREAMS):
        sys.exit(1)  # The command is gone.
    with link.makefile("rb") as stream:
        folder, environment, sys.argv = json.loads(stream.read(int.from_bytes(header, "big")))
    for number, file in zip(STREAMS, files, strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    np.random.seed()  # Or all forks would draw the same; Python's own generator sees to itself.
    Thread(target=_die_with, args=(link,), daemon=True).start()


def _die_with(link: socket.socket) -> None:
    with contextlib.suppress(OSError):
        link.recv(1)
    os.killpg(0, signal.SIGKILL)


@contextlib.contextmanager
def _removed(folder: str) -> Iterator[None]:
    own = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == own:
            for path in Path(folder).glob("*"):
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _main(folder: str, workflow: int) -> None:
    # Only its workflow ends it. What is sent to a fork before it has become the command waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    link, name = None, circumstances()  # Before something that is imported changes them.
    with _removed(folder), socket.socket(socket.AF_UNIX) as listener:
        import torch

        from lexigraft.cli import app
        from lexigraft.specs.stages import STAGES

        # A process that has spoken to a GPU cannot be forked.
        if torch.version.cuda or torch.version.hip:
            return
        for stage in STAGES:
            import_module(f"lexigraft.stages.{stage}")
        for model in ARCHITECTURES:
            import_module(f"transformers.models.{model}.modeling_{model}")
        gc.freeze()  # Or the first collection of each fork would copy all that was imported.
        try:
            listener.bind(f"{folder}/{name}")
        except OSError as error:
            print(f"no warm starts: {folder}: {error}", file=sys.stderr)
            return
        listener.listen(128)
        if os.getppid() == workflow:
            link = _serve(listener, workflow)
    if link is not None:
        _become(link)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        app(prog_name="lexigraft")


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
