"""Initialisation strategies of new tokens, one file each, under their names in a config."""

from lexigraft.transfer.initialisation import mean, randomised, semantic, subtoken
from lexigraft.transfer.initialisation.initialise import (
    Initialised,
    initialise,
    initialise_embeddings,
)
from lexigraft.transfer.initialisation.registry import STRATEGIES, Neighbours

__all__ = ["STRATEGIES", "Initialised", "Neighbours", "initialise", "initialise_embeddings"]
_REGISTERED = (semantic, subtoken, randomised, mean)
