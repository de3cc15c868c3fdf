"""Effectiveness, efficiency and significance of rankings."""

from lexigraft.evaluation.efficiency import Activity, flops
from lexigraft.evaluation.metrics import Evaluation, evaluate
from lexigraft.evaluation.significance import holm, minimum_detectable_difference, paired_test

__all__ = [
    "Activity",
    "Evaluation",
    "evaluate",
    "flops",
    "holm",
    "minimum_detectable_difference",
    "paired_test",
]
