"""What a transfer did to each token of the target, as a table that words are looked up in."""

from typing import Any

import pandas as pd

from lexigraft.analysis.neighbours import COLUMNS
from lexigraft.transfer.transfer import Transfer


def token_table(transfer: Transfer) -> pd.DataFrame:
    """One record for each target token, in the order of ids; `COLUMNS` says what it holds."""
    shared, source, target = transfer.overlap, transfer.source, transfer.target
    pairs = zip(shared.target_ids.tolist(), shared.source_ids.tolist(), strict=True)
    partners = {token_id: source.shown(partner) for token_id, partner in pairs}
    rows = {token_id: row for row, token_id in enumerate(shared.new_ids.tolist())}
    records = [
        {
            "id": token_id,
            "token": target.shown(token_id),
            "text": piece.text,
            "place": piece.place,
            "partner": partners.get(token_id),
            "sub_tokens": [source.shown(i) for i in transfer.sub_tokens.get(token_id, ())],
            **_mixed(transfer, rows.get(token_id)),
        }
        for token_id, piece in sorted(target.pieces.items())
    ]
    frame = pd.DataFrame.from_records(records, columns=list(COLUMNS))
    return frame.astype({"id": "int32", "support": "Int32"})


def _mixed(transfer: Transfer, row: int | None) -> dict[str, Any]:
    neighbours = transfer.initialised.neighbours
    if row is None or neighbours is None:
        return {"anchors": [], "weights": [], "support": None}
    pairs = zip(neighbours.source_ids[row].tolist(), neighbours.weights[row].tolist(), strict=True)
    kept = [(anchor, weight) for anchor, weight in pairs if weight > 0]
    return {
        "anchors": [transfer.source.shown(anchor) for anchor, _ in kept],
        "weights": [weight for _, weight in kept],
        "support": int(neighbours.support[row]),
    }
