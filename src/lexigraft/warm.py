"""Warm starts: a workflow's jobs on one machine are forked from a process that has imported torch.

To import torch and transformers takes some five seconds, more than many jobs of the small scales
work. So a workflow keeps one process that has done it (`keep`), and a command that finds it becomes
the remote control of a fork (`borrow`): the fork has the command's arguments, environment, folder
and open files, gets its signals, dies with it, and its exit code is the command's. Without such a
process a command imports what it needs itself. Linux, by pidfd.
"""

import contextlib
import gc
import json
import os
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
"""Where jobs find the process: its socket, then the prefix of its Python."""
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STREAMS = (0, 1, 2)
HEADER_BYTES = 8
ARCHITECTURES = ("bert", "modernbert", "roberta")


def keep() -> None:
    """Start the process for the jobs that this one starts; it ends when this one does.

    Where temporary files cannot be written, it says so, and jobs import for themselves.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            # A folder that nobody else may open, and a socket that takes requests from now on.
            address = Path(tempfile.mkdtemp(prefix="lexigraft-")) / "socket"
            listener.bind(str(address))
        except OSError as error:
            print(f"no warm starts: {tempfile.gettempdir()}: {error}", file=sys.stderr)
            return
        listener.listen(128)
        words = [str(address), str(listener.fileno()), str(os.getpid())]
        subprocess.Popen(
            [sys.executable, "-m", __name__, *words],
            stdin=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
        )
    os.environ[VARIABLE] = os.pathsep.join([str(address), sys.prefix])


def borrow() -> int | None:
    """Have this command done by a fork and return its exit code; None where there is no process."""
    address, _, prefix = os.environ.get(VARIABLE, "").partition(os.pathsep)
    if not address or prefix != sys.prefix:
        return None
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(address)
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
                os.kill(int(pid), number)

        for number in FORWARDED:
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
                elif key.fileobj is listener:
                    link, _ = listener.accept()
                    pid = os.fork()
                    if pid == 0:
                        for _, other in links.values():
                            other.close()
                        return link
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
    """Take over a command: its open files, folder, environment, arguments and threads."""
    import torch

    from lexigraft.machine import threads

    header, files, _, _ = socket.recv_fds(link, HEADER_BYTES, len(STREAMS))
    if len(files) < len(STREAMS):
        sys.exit(1)  # The command is gone.
    with link.makefile("rb") as stream:
        folder, environment, sys.argv = json.loads(stream.read(int.from_bytes(header, "big")))
    for stream_number, file in zip(STREAMS, files, strict=True):
        os.dup2(file, stream_number)
        os.close(file)
    os.setpgid(0, 0)  # What a terminal sends comes by the command, once.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(threads())
    Thread(target=_die_with, args=(link,), daemon=True).start()


def _die_with(link: socket.socket) -> None:
    with contextlib.suppress(OSError):
        link.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def _removed(address: Path) -> Iterator[None]:
    own = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == own:
            address.unlink(missing_ok=True)
            address.parent.rmdir()


def _main(address: str, listener: str, workflow: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(listener)) as requests, _removed(Path(address)):
        import torch

        from lexigraft.cli import app
        from lexigraft.specs.stages import STAGES

        # A process that has spoken to a GPU cannot be forked.
        if torch.version.cuda or torch.version.hip or os.getppid() != int(workflow):
            return
        for stage in STAGES:
            import_module(f"lexigraft.stages.{stage}")
        for name in ARCHITECTURES:
            import_module(f"transformers.models.{name}.modeling_{name}")
        gc.freeze()  # Or the first collection of each fork would copy all that was imported.
        link = _serve(requests, int(workflow))
    if link is not None:
        _become(link)
        app(prog_name="lexigraft")


if __name__ == "__main__":
    _main(*sys.argv[1:])
