"""What is in `workflow/backbones`: whole, small, and taken by the scale whose text it has read."""

from pathlib import Path

from lexigraft.encoders.shipped import verify_shipped
from lexigraft.specs.scales import load_scale

LARGEST = 16_000_000
"""Bytes of all weights and records together, so that a clone stays quick."""


def test_what_is_shipped_is_whole_and_small(root: Path) -> None:
    folders = sorted((root / "workflow" / "backbones").iterdir())
    assert {folder.name for folder in folders} == set(load_scale(root, "mini-backbones").retrained)
    for folder in folders:
        verify_shipped(folder)
    assert sum(file.stat().st_size for folder in folders for file in folder.iterdir()) <= LARGEST


def test_only_mini_takes_it(root: Path) -> None:
    taken = {
        scale: {
            name
            for name, spec in load_scale(root, scale).backbones.items()
            if spec.origin == "shipped"
        }
        for scale in ("mini", "mini-backbones", "development")
    }
    retrained = set(load_scale(root, "mini-backbones").retrained)
    assert taken == {"mini": retrained, "mini-backbones": set(), "development": set()}
