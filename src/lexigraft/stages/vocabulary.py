"""Stage `vocabulary`: a tokenizer trained on a collection's text, the target of a transfer."""

import logging

from lexigraft.corpora.collection import Collection
from lexigraft.files import write_json
from lexigraft.specs.stages import VocabularySpec
from lexigraft.stages.job import Job
from lexigraft.vocabulary.fragmentation import count
from lexigraft.vocabulary.training import train_tokenizer

log = logging.getLogger(__name__)


def run(spec: VocabularySpec, job: Job) -> None:
    """Write the tokenizer and vocabulary.json.

    Raises:
        LexigraftError: the collection has no text, or the size cannot hold its alphabet.
    """
    collection = Collection.open(job.inputs["text"])
    tokenizer = train_tokenizer(spec.tokenizer, spec.lowercase, spec.size, collection.text())
    if len(tokenizer) < spec.size:
        sentence = "%s: the text yields %d tokens of the %d asked for"
        log.warning(sentence, spec.name, len(tokenizer), spec.size)
    tokenizer.save_pretrained(job.out)
    tokens, words = count(tokenizer, collection.text())
    write_json(
        job.out / "vocabulary.json",
        {
            "tokenizer": spec.tokenizer,
            "lowercase": spec.lowercase,
            "size": len(tokenizer),
            "training_tokens": tokens,
            "training_words": words,
            "training_fragmentation": tokens / words,
        },
    )
