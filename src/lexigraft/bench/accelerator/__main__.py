"""Check and time the sparse head on a GPU: `python -m lexigraft.bench.accelerator --out DIR`."""

from pathlib import Path
from typing import Annotated

import typer

from lexigraft.errors import LexigraftError
from lexigraft.refusals import told_in_one_sentence


@told_in_one_sentence
def accelerator(
    *, out: Annotated[Path, typer.Option(help="Folder to write; whole or absent.")]
) -> None:
    """Compare the sparse head with the plain formula on this GPU, in results, time and memory."""
    import torch

    from lexigraft.bench.accelerator.check import check

    if not torch.cuda.is_available():
        raise LexigraftError("bench.accelerator: torch finds no GPU; one that runs CUDA is needed")
    check(out, torch.device("cuda", torch.cuda.current_device()))


if __name__ == "__main__":
    typer.run(accelerator)
