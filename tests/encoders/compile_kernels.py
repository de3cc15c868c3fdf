"""Compile the head's kernels as for a GPU, without one: a line of JSON for each.

The line holds the kernel, the compute capability, the shared memory in bytes and what the assembler
says of registers and of the stack, on which spilled registers lie.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from lexigraft.encoders import splade_triton
from lexigraft.encoders.splade_triton import LARGE, SMALL, STEP_BYTES, Tile

CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


def compiled(
    kernel: Any, capability: int, types: dict[str, str], constants: dict[str, Any], **options: int
) -> dict[str, Any]:
    names = kernel.arg_names
    source = ASTSource(
        fn=kernel,
        signature={name: types.get(name, "constexpr") for name in names},
        constexprs={(names.index(name),): value for name, value in constants.items()},
        attrs={
            (names.index(name),): [["tt.divisibility", 16]]
            for name, kind in types.items()
            if kind.startswith("*") or name == "H"
        },
    )
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    cubin = Path(sys.argv[1]) / "kernel.cubin"
    cubin.write_bytes(made.asm["cubin"])
    said = subprocess.run(
        [CUOBJDUMP, "--dump-resource-usage", cubin], capture_output=True, text=True, check=True
    ).stdout
    usage = re.search(r"REG:(\d+) STACK:(\d+)", said)
    assert usage, said
    return {
        "capability": capability,
        "shared": made.metadata.shared,
        "registers": int(usage[1]),
        "stack": int(usage[2]),
        "ptx": {name: name in made.asm["ptx"] for name in ("wgmma", "mma.sync", "fma.rn.f32")},
    }


def pool(kind: str, capability: int, tile: Tile, texts: int, track: bool) -> dict[str, Any]:
    values = ("hidden", "weight", "bias", "best")
    size = 4 if kind == "fp32" else 2
    return {"kernel": f"pool {kind}"} | compiled(
        splade_triton._pool,
        capability,
        dict.fromkeys(values, f"*{kind}")
        | {"mask": "*u8", "position": "*i32"}
        | dict.fromkeys("BLVH", "i32"),
        {
            "HAS_BIAS": True,
            "TRACK": track,
            "WHOLE_STEPS": True,
            "PRECISION": "ieee",
            "TEXTS": texts,
            "POSITIONS": tile.columns // texts,
            "ENTRIES": tile.entries,
            "STEP": STEP_BYTES // size,
        },
        num_warps=tile.warps,
        num_stages=tile.stages,
    )


def sum_rows(kind: str, capability: int, items: int) -> dict[str, Any]:
    return {"kernel": f"sum {kind}"} | compiled(
        splade_triton._sum_rows,
        capability,
        {"start": "*i64", "column": "*i64", "value": "*fp32", "dense": f"*{kind}"}
        | {"product": "*fp32", "H": "i32"},
        {"ITEMS": items, "BLOCK": 256},
        num_warps=4 if items >= 32 else 2,
    )


if __name__ == "__main__":
    for line in (
        pool("bf16", 90, LARGE, texts=1, track=True),
        pool("bf16", 90, LARGE, texts=4, track=True),
        pool("fp16", 90, LARGE, texts=1, track=False),
        pool("bf16", 80, SMALL, texts=1, track=True),
        pool("bf16", 80, SMALL, texts=splade_triton.MOST_TEXTS, track=True),
        pool("fp32", 80, SMALL, texts=1, track=True),
        pool("fp32", 90, SMALL, texts=1, track=True),
        sum_rows("bf16", 80, 8),
        sum_rows("fp32", 90, 32),
    ):
        print(json.dumps(line))
