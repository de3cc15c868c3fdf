"""Vocabularies: what they share, how they fold, and how they are trained."""

from lexigraft.vocabulary.folding import fold_map
from lexigraft.vocabulary.overlap import Overlap, overlap

__all__ = ["Overlap", "fold_map", "overlap"]
