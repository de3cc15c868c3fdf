"""Stage corpus: a collection, embedded, downloaded or one's own."""

from pathlib import Path

from lexigraft.corpora.docstrings import DocstringOptions, write_docstring_collection
from lexigraft.specs.stages import CorpusSpec
from lexigraft.stages.job import Job


def run(spec: CorpusSpec, job: Job) -> None:
    """Write the collection that a spec describes into `job.out`.

    Raises:
        LexigraftError: what is asked for is not there or cannot be read.
    """
    if spec.kind == "docstrings":
        options = DocstringOptions(
            spec.train_packages,
            spec.zero_shot_packages,
            spec.in_domain_queries,
            spec.minimum_words,
            spec.negatives,
            spec.limit,
            spec.seed,
        )
        write_docstring_collection(options, Path(job.out))
