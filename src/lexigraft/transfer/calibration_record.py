"""What a calibration measured, as numbers: rates, quantiles and histograms."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from lexigraft.transfer.calibration import Activations, Calibration

BINS = 80
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
DEFINITION = (
    "share of vocabulary entries (special tokens included, unused rows not) above zero in the "
    "max-pooled representation of a probe document, averaged over documents"
)


def calibration_record(calibration: Calibration) -> dict[str, Any]:
    """Everything that `calibrate.json` says of the measurement, as plain JSON."""
    documents, entries = calibration.before.pooled.shape
    return {
        "shift": calibration.shift,
        "activation_rate_is": DEFINITION,
        "probe_documents": documents,
        "probe_positions": calibration.positions,
        "vocabulary": entries,
        "before": _facts(calibration.before),
        "after": _facts(calibration.after),
    }


def _facts(activations: Activations) -> dict[str, Any]:
    pooled = activations.pooled
    counts, edges = np.histogram(pooled, bins=BINS)
    active = np.log1p(pooled[pooled > 0].astype(np.float64))
    weights = np.quantile(active, QUANTILES) if len(active) else [None] * len(QUANTILES)
    return {
        "activation_rate": activations.rate,
        "position_activation_rate": activations.position_rate,
        "active_entries_per_document": float((pooled > 0).sum(1).mean()),
        "health": activations.health,
        "pooled_logit_quantiles": _by_quantile(np.quantile(pooled, QUANTILES)),
        "active_weight_quantiles": _by_quantile(weights),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }


def _by_quantile(values: Iterable[float | None]) -> dict[str, float | None]:
    pairs = zip(QUANTILES, values, strict=True)
    return {str(q): None if value is None else float(value) for q, value in pairs}
