"""Retrieval: engines behind one interface."""

from lexigraft.retrieval.bm25 import search_bm25
from lexigraft.retrieval.engines import ENGINES, search
from lexigraft.retrieval.exact import ExactIndex, search_matrices, search_vectors
from lexigraft.retrieval.hits import Hits, read_rankings, write_rankings
from lexigraft.retrieval.seismic import SeismicIndex
from lexigraft.retrieval.vectors import Vectors

__all__ = [
    "ENGINES",
    "ExactIndex",
    "Hits",
    "SeismicIndex",
    "Vectors",
    "read_rankings",
    "search",
    "search_bm25",
    "search_matrices",
    "search_vectors",
    "write_rankings",
]
