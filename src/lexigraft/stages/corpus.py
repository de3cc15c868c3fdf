"""Stage corpus: a collection, embedded, downloaded or one's own."""

from lexigraft.corpora.beir import write_beir_collection
from lexigraft.corpora.docstrings import DocstringOptions, write_docstring_collection
from lexigraft.corpora.msmarco import write_msmarco_collection
from lexigraft.corpora.pair_tables import write_pair_collection
from lexigraft.corpora.text import write_text_collection
from lexigraft.errors import LexigraftError
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
        write_docstring_collection(options, job.out)
    elif spec.kind == "beir":
        write_beir_collection(
            job.out,
            job.checkpoints,
            source=spec.source,
            path=spec.path,
            split=spec.split,
            remove_self_match=spec.remove_self_match,
            limit=spec.limit,
        )
    elif spec.kind == "msmarco":
        write_msmarco_collection(
            job.out, job.checkpoints, negatives=spec.negatives, limit=spec.limit
        )
    elif spec.kind == "text":
        write_text_collection(job.out, source=spec.source, path=spec.path, limit=spec.limit)
    elif spec.kind == "pairs":
        write_pair_collection(
            job.out,
            source=spec.source,
            path=spec.path,
            query_column=spec.query_column,
            document_column=spec.document_column,
            limit=spec.limit,
            seed=spec.seed,
        )
    else:
        raise LexigraftError(
            f"kind {spec.kind!r} found, allowed are docstrings, beir, msmarco, text and pairs"
        )
