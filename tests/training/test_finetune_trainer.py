from lexigraft.training.finetune_trainer import first_collapse


def test_first_collapse_by_hand() -> None:
    healthy = {"step": 1, "verdict": "healthy", "active_share": 0.1, "mean_cosine": 0.2}
    dead = {"step": 2, "verdict": "dead outputs", "active_share": 0.0, "mean_cosine": None}
    assert first_collapse([healthy]) is None
    assert first_collapse([healthy, dead, {**dead, "step": 3}]) == {**dead, "records": 2}
