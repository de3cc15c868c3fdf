from pathlib import Path

import numpy as np
import pytest
import torch

from lexigraft.corpora import TrainingPairs
from lexigraft.errors import LexigraftError
from lexigraft.training.pairs import PairSampler, StepDataset
from lexigraft.training.scores import PairScores, write_scores
from lexigraft.training.tokenised_texts import TokenisedTexts
from tiny_retrieval import tiny_tokenizer


def make_pairs(queries: int = 5) -> TrainingPairs:
    """Query i has document p<i> as positive and n<i>a, n<i>b as negatives."""
    names = [f"q{i}" for i in range(queries)]
    return TrainingPairs(
        queries={name: f"query {name}" for name in names},
        documents={f"{kind}{i}": "text" for i in range(queries) for kind in ("p", "na", "nb")},
        positives={f"q{i}": [f"p{i}"] for i in range(queries)},
        negatives={f"q{i}": [f"na{i}", f"nb{i}"] for i in range(queries)},
    )


def names(sampler: PairSampler, step: int) -> list[tuple[str, ...]]:
    drawn = sampler.step(step)
    return [
        (sampler.query_ids[query], *(sampler.document_ids[d] for d in documents))
        for query, documents in zip(drawn.queries, drawn.documents, strict=True)
    ]


def test_each_epoch_visits_every_query_once() -> None:
    sampler = PairSampler(make_pairs(6), batch_size=2, negatives=1, seed=3)
    epochs = [
        [row[0] for step in range(3 * e, 3 * e + 3) for row in names(sampler, step)] for e in (0, 1)
    ]
    assert [sorted(epoch) for epoch in epochs] == [[f"q{i}" for i in range(6)]] * 2
    assert epochs[0] != epochs[1]


def test_a_query_is_followed_by_its_positive_and_its_own_negatives() -> None:
    sampler = PairSampler(make_pairs(), batch_size=5, negatives=2, seed=0)
    for query, positive, *negatives in names(sampler, 4):
        number = query.removeprefix("q")
        assert positive == f"p{number}"
        assert sorted(negatives) == [f"na{number}", f"nb{number}"]


def test_a_step_depends_on_seed_and_step_alone() -> None:
    first = PairSampler(make_pairs(), batch_size=2, negatives=1, seed=1)
    forward = [names(first, step) for step in range(8)]
    again = PairSampler(make_pairs(), batch_size=2, negatives=1, seed=1)
    assert [names(again, step) for step in reversed(range(8))] == forward[::-1]
    other = PairSampler(make_pairs(), batch_size=2, negatives=1, seed=2)
    assert [names(other, step) for step in range(8)] != forward


def test_queries_with_too_few_negatives_are_counted_and_left_out() -> None:
    pairs = make_pairs(3)
    pairs.negatives["q1"] = ["na1"]
    sampler = PairSampler(pairs, batch_size=2, negatives=2, seed=0)
    assert (sampler.queries, sampler.left_out) == (2, 1)
    with pytest.raises(LexigraftError, match="none of 3 queries has a positive and 3 hard"):
        PairSampler(pairs, batch_size=2, negatives=3, seed=0)


def test_further_positives_by_hand() -> None:
    pairs = make_pairs(2)
    pairs.positives["q0"] = ["p0"]
    pairs.positives["q1"] = ["p1"]
    sampler = PairSampler(pairs, batch_size=2, negatives=1, seed=0)
    drawn = sampler.step(0)
    assert not sampler.further_positives(drawn).any()
    # Now the first query of the step also has the second one's positive, column 2 of 4.
    first, second = drawn.queries.tolist()
    sampler.positives[first] = np.append(sampler.positives[first], sampler.positives[second])
    expected = [[False, False, True, False], [False, False, False, False]]
    assert sampler.further_positives(drawn).tolist() == expected


def test_what_a_training_may_draw_holds_all_that_it_draws() -> None:
    pairs = make_pairs(7)
    pairs.negatives["q3"] = []
    sampler = PairSampler(pairs, batch_size=2, negatives=1, seed=3)
    for steps in (1, 2, 3, 4):
        queries, documents = sampler.drawn(steps)
        steps_drawn = [sampler.step(step) for step in range(steps)]
        assert queries.tolist() == sorted({q for s in steps_drawn for q in s.queries.tolist()})
        assert {d for s in steps_drawn for d in s.documents.flat} <= set(documents.tolist())
        # A positive and two negatives of each query, and nothing else.
        own = {sampler.query_ids[query].removeprefix("q") for query in queries}
        assert {sampler.document_ids[d][-1] for d in documents} == own
        assert len(documents) == 3 * len(queries)
    # Six queries have a negative: three steps of two see all, whatever the seed.
    other = PairSampler(pairs, batch_size=2, negatives=1, seed=4).drawn(3)
    assert [part.tolist() for part in other] == [part.tolist() for part in sampler.drawn(3)]
    assert len(sampler.drawn(10**6)[0]) == 6


def dataset(folder: Path, processes: int, scores: PairScores | None = None) -> StepDataset:
    pairs = make_pairs(8)
    pairs.documents = {name: f"{'x ' * (i + 1)}" for i, name in enumerate(pairs.documents)}
    sampler = PairSampler(pairs, batch_size=4, negatives=1, seed=5)
    tokens = [
        TokenisedTexts(tiny_tokenizer(), list(texts.values()), 64, folder)
        for texts in (pairs.queries, pairs.documents)
    ]
    return StepDataset(sampler, *tokens, steps=3, scores=scores, processes=processes)


def test_processes_share_a_step_in_the_order_of_their_ranks(tmp_path: Path) -> None:
    whole, shared = dataset(tmp_path, 1), dataset(tmp_path, 2)
    assert (len(whole), len(shared)) == (3, 6)
    lengths = whole[2]["documents"]["attention_mask"].sum(1)
    parts = [shared[4]["documents"], shared[5]["documents"]]
    assert torch.equal(torch.cat([p["attention_mask"].sum(1) for p in parts]), lengths)
    assert whole[2]["target_B"].tolist() == shared[5]["target_B"].tolist() == [0, 2, 4, 6]
    with pytest.raises(LexigraftError, match="4 queries cannot be shared evenly by 3 processes"):
        dataset(tmp_path, 3)


def test_a_pair_without_a_teacher_score_is_refused_before_training(tmp_path: Path) -> None:
    pairs = make_pairs(8)
    wanted = [(q, d) for q in pairs.queries for d in (*pairs.positives[q], *pairs.negatives[q])]
    path = tmp_path / "scores.parquet"
    values = np.arange(len(wanted), dtype=np.float32)
    write_scores(path, [([q for q, _ in wanted], [d for _, d in wanted], values)])
    scores = PairScores(path, list(pairs.queries), list(pairs.documents))
    assert dataset(tmp_path, 1, scores)[0]["teacher_BP"].shape == (4, 2)
    write_scores(path, [([q for q, _ in wanted[1:]], [d for _, d in wanted[1:]], values[1:])])
    scores = PairScores(path, list(pairs.queries), list(pairs.documents))
    with pytest.raises(LexigraftError, match="query 'q0' and document 'p0' \\(1 of "):
        dataset(tmp_path, 1, scores)


def test_the_probe_holds_different_documents() -> None:
    sampler = PairSampler(make_pairs(6), batch_size=2, negatives=1, seed=3)
    probe = sampler.probe(4)
    assert len(set(probe)) == 4
    assert {sampler.document_ids[place][0] for place in probe} == {"p"}
    assert len(sampler.probe(100)) == 6
