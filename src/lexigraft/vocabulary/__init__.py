"""Vocabularies: what they share, and how they are trained."""

from lexigraft.vocabulary.overlap import Overlap, overlap

__all__ = ["Overlap", "overlap"]
