"""Vocabulary transfer: initialisation of embeddings and bias, and calibration of activations."""

from lexigraft.transfer.bias import align_bias
from lexigraft.transfer.calibration import Calibration, calibrate
from lexigraft.transfer.initialisation import initialise_embeddings
from lexigraft.transfer.sparsemax import sparsemax
from lexigraft.transfer.transfer import Transfer, transfer_vocabulary

__all__ = [
    "Calibration",
    "Transfer",
    "align_bias",
    "calibrate",
    "initialise_embeddings",
    "sparsemax",
    "transfer_vocabulary",
]
