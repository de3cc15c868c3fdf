"""Stage `teacher`: scores of the training pairs that students distil."""

from lexigraft.specs.stages import TeacherSpec
from lexigraft.stages.job import Job
from lexigraft.training.teacher import score_pairs


def run(spec: TeacherSpec, job: Job) -> None:
    """Write scores.parquet and teacher.json."""
    score_pairs(job.inputs["corpus"], job.inputs.get("model"), spec, job.out)
