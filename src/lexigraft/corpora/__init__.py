"""Corpora behind one interface: training text, training pairs and evaluation sets."""

from lexigraft.corpora.collection import Collection, TrainingPairs
from lexigraft.corpora.evaluation_set import EvaluationSet

__all__ = ["Collection", "EvaluationSet", "TrainingPairs"]
