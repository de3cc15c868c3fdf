"""Encoders: masked language models, their sparse and dense heads, and texts to vectors."""

from lexigraft.encoders.decoder import output_projection, project_states
from lexigraft.encoders.dense import mean_pool
from lexigraft.encoders.encoder import Encoder
from lexigraft.encoders.health import health
from lexigraft.encoders.inference_free import TokenWeights, idf_weights, uniform_weights
from lexigraft.encoders.loading import load_encoder
from lexigraft.encoders.masked_lm import load_masked_lm, save_masked_lm
from lexigraft.encoders.saving import save_encoder
from lexigraft.encoders.splade import splade_pool
from lexigraft.encoders.tokenizers import lowercase_tokenizer

__all__ = [
    "Encoder",
    "TokenWeights",
    "health",
    "idf_weights",
    "load_encoder",
    "load_masked_lm",
    "lowercase_tokenizer",
    "mean_pool",
    "output_projection",
    "project_states",
    "save_encoder",
    "save_masked_lm",
    "splade_pool",
    "uniform_weights",
]
