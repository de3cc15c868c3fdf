"""The texts of each training step, a function of the seed and the step alone.

Shapes: B queries of a step over all processes, P documents of each (the positive first, then its
hard negatives), M = B * P, L tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from lexigraft.corpora.collection import TrainingPairs
from lexigraft.errors import LexigraftError
from lexigraft.training.scores import PairScores
from lexigraft.training.tokenised_texts import TokenisedTexts

QUERIES_IN_A_PART = 10_000
"""Of the check that no teacher score is missing: MS MARCO has 100 million pairs to look up."""


@dataclass(frozen=True)
class StepPairs:
    """Positions of the queries and documents of one step."""

    queries: NDArray[np.int64]
    """(B,)"""
    documents: NDArray[np.int64]
    """(B, P)"""


class PairSampler:
    """Draws the pairs of a step: a fresh order of the queries in each epoch, random negatives.

    Args:
        pairs: training split of a collection.
        batch_size: queries in a step.
        negatives: hard negatives of each query. Queries with fewer are left out and counted.
        seed: order of the queries, choice of positives and negatives.

    Raises:
        LexigraftError: no query has a positive and enough negatives.
    """

    def __init__(self, pairs: TrainingPairs, *, batch_size: int, negatives: int, seed: int) -> None:
        self.batch_size = batch_size
        self.negatives = negatives
        self.seed = seed
        self.query_ids = list(pairs.queries)
        self.document_ids = list(pairs.documents)
        query_place = {name: place for place, name in enumerate(self.query_ids)}
        document_place = {name: place for place, name in enumerate(self.document_ids)}
        self.positives: dict[int, NDArray[np.int64]] = {}
        self.candidates: dict[int, NDArray[np.int64]] = {}
        usable = []
        for name, positives in pairs.positives.items():
            found = pairs.negatives.get(name, [])
            if not positives or len(found) < negatives:
                continue
            query = query_place[name]
            usable.append(query)
            self.positives[query] = np.array([document_place[d] for d in positives], np.int64)
            self.candidates[query] = np.array([document_place[d] for d in found], np.int64)
        self.left_out = len(pairs.positives) - len(usable)
        if not usable:
            raise LexigraftError(
                f"training pairs: none of {len(pairs.positives)} queries has a positive and "
                f"{negatives} hard negatives (option 'negatives')"
            )
        self._usable = np.array(usable, np.int64)
        self._epoch: tuple[int, NDArray[np.int64]] = (-1, self._usable)

    @property
    def queries(self) -> int:
        """How many queries are trained on."""
        return len(self._usable)

    def step(self, step: int) -> StepPairs:
        """The pairs of a step, counted from 0."""
        places = step * self.batch_size + np.arange(self.batch_size)
        query_B = np.array([self._at(*divmod(int(place), self.queries)) for place in places])
        generator = np.random.default_rng([self.seed, 1, step])
        document_BP = np.empty((self.batch_size, 1 + self.negatives), np.int64)
        for row, query in enumerate(query_B.tolist()):
            document_BP[row, 0] = generator.choice(self.positives[query])
            document_BP[row, 1:] = generator.choice(
                self.candidates[query], self.negatives, replace=False
            )
        return StepPairs(query_B, document_BP)

    def probe(self, count: int) -> list[int]:
        """Up to `count` documents, each the positive of another query, drawn by the seed."""
        generator = np.random.default_rng([self.seed, 2])
        order = generator.permutation(self._usable).tolist()
        return list(dict.fromkeys(int(self.positives[query][0]) for query in order))[:count]

    def needed(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Every pair that a step may draw, as positions of queries and documents, in parts."""
        for start in range(0, self.queries, QUERIES_IN_A_PART):
            own = self._usable[start : start + QUERIES_IN_A_PART].tolist()
            listed = [np.concatenate([self.positives[q], self.candidates[q]]) for q in own]
            yield np.repeat(np.array(own), [len(d) for d in listed]), np.concatenate(listed)

    def drawn(self, steps: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The queries that so many steps draw, and every document that they may draw with them.

        Both are positions in rising order. Once every query has its turn, they are the same for
        every seed.
        """
        places = steps * self.batch_size
        visited = self._usable if places >= self.queries else self._order(0)[:places]
        chosen = np.zeros(len(self.document_ids), np.bool_)
        for query in visited.tolist():
            chosen[self.positives[query]] = True
            chosen[self.candidates[query]] = True
        return np.sort(visited), np.flatnonzero(chosen)

    def further_positives(self, pairs: StepPairs) -> NDArray[np.bool_]:
        """Where document m of the step is a positive of query b besides its own target: (B, M).

        A second copy of the target itself is one too.
        """
        flat_M = pairs.documents.reshape(-1)
        excluded_BM = np.stack(
            [np.isin(flat_M, self.positives[query]) for query in pairs.queries.tolist()]
        )
        rows = np.arange(self.batch_size)
        excluded_BM[rows, rows * pairs.documents.shape[1]] = False
        return excluded_BM

    def _at(self, epoch: int, place: int) -> int:
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self._order(epoch))
        return int(self._epoch[1][place])

    def _order(self, epoch: int) -> NDArray[np.int64]:
        return np.random.default_rng([self.seed, 0, epoch]).permutation(self._usable)


class StepDataset(Dataset[dict[str, Any]]):
    """What each process needs for each optimiser step: item `step * processes + rank`.

    `queries` and `documents` hold the tokens of that process's share, in the order of the ranks;
    `target_B`, `excluded_BM` and `teacher_BP` (where a teacher is given) describe the whole step.

    Args:
        sampler: draws the pairs.
        query_texts: tokens of the queries, in the sampler's order.
        document_texts: tokens of the documents, likewise.
        steps: how many steps there are.
        scores: teacher scores, if the objective distils.
        processes: how many share a step. The batch size must be divisible by it.

    Raises:
        LexigraftError: the queries of a step cannot be shared evenly, or a pair that may be drawn
            has no teacher score.
    """

    def __init__(
        self,
        sampler: PairSampler,
        query_texts: TokenisedTexts,
        document_texts: TokenisedTexts,
        *,
        steps: int,
        scores: PairScores | None = None,
        processes: int = 1,
    ) -> None:
        if sampler.batch_size % processes:
            raise LexigraftError(
                f"batch_size: {sampler.batch_size} queries cannot be shared evenly by "
                f"{processes} processes"
            )
        if scores is not None:
            for query_N, document_N in sampler.needed():
                scores.lookup(query_N, document_N[:, None])
        self._sampler = sampler
        self._query_texts = query_texts
        self._document_texts = document_texts
        self._steps = steps
        self._scores = scores
        self._processes = processes

    def __len__(self) -> int:
        return self._steps * self._processes

    def __getitem__(self, place: int) -> dict[str, Any]:
        step, rank = divmod(place, self._processes)
        pairs = self._sampler.step(step)
        size, per_query = pairs.documents.shape
        share = size // self._processes
        own = slice(rank * share, (rank + 1) * share)
        item: dict[str, Any] = {
            "queries": self._query_texts.batch(pairs.queries[own].tolist()),
            "documents": self._document_texts.batch(pairs.documents[own].reshape(-1).tolist()),
            "target_B": torch.arange(size) * per_query,
            "excluded_BM": torch.from_numpy(self._sampler.further_positives(pairs)),
        }
        if self._scores is not None:
            item["teacher_BP"] = torch.from_numpy(
                self._scores.lookup(pairs.queries, pairs.documents)
            )
        return item

    def __getitems__(self, places: list[int]) -> dict[str, Any]:
        """The one item that a process takes in a step, as its finished batch."""
        (place,) = places
        return self[place]
