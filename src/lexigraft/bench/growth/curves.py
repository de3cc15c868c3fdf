"""All curves, in the order of the report."""

from collections.abc import Mapping

from lexigraft.bench.comparisons import head, search
from lexigraft.bench.growth import encoding, planning
from lexigraft.bench.growth.curve import Curve

HEAD = "sparse head, forward and backward, about 1 % active, B={texts} "
CURVES = (
    Curve(
        name="growth-vocabulary",
        title=HEAD + "L={length} H={width}",
        axis="vocabulary",
        label="vocabulary V",
        prepare=head.ours,
        fixed={
            "full": {"texts": 2, "length": 256, "width": 768},
            "small": {"texts": 2, "length": 16, "width": 16},
        },
        values={"full": (16_384, 65_536, 262_144), "small": (500, 1_000, 2_000)},
    ),
    Curve(
        name="growth-length",
        title=HEAD + "H={width} V={vocabulary}",
        axis="length",
        label="length L",
        prepare=head.ours,
        fixed={
            "full": {"texts": 2, "width": 768, "vocabulary": 30_522},
            "small": {"texts": 2, "width": 16, "vocabulary": 500},
        },
        values={"full": (64, 256, 1_024, 4_096), "small": (8, 16, 32)},
    ),
    Curve(
        name="growth-encoding",
        title="encoding to disk, documents of {shortest} to {longest} tokens, {layers} layers, "
        "H={width} V={vocabulary}",
        axis="documents",
        label="documents",
        prepare=encoding.prepare,
        fixed={"full": encoding.FULL, "small": encoding.SMALL},
        values={"full": (1_024, 4_096, 16_384), "small": (20, 40, 80)},
    ),
    Curve(
        name="growth-search",
        title="exact search, {queries} queries of {query_terms} terms, documents of "
        "{document_terms} terms, top {depth}",
        axis="documents",
        label="documents",
        prepare=search.ours,
        fixed={
            "full": {
                "vocabulary": 30_522,
                "document_terms": 200,
                "queries": 100,
                "query_terms": 30,
                "depth": 1_000,
            },
            "small": {
                "vocabulary": 300,
                "document_terms": 20,
                "queries": 5,
                "query_terms": 6,
                "depth": 10,
            },
        },
        values={"full": (25_000, 100_000, 400_000), "small": (200, 400, 800)},
    ),
    Curve(
        name="growth-planning",
        title="our part of planning: configuration and experiments to stages with ids and options",
        axis="jobs",
        label="jobs",
        prepare=planning.ours,
        fixed={"full": {}, "small": {}},
        values={"full": (10, 100, 1_000, 10_000), "small": (10, 40, 100)},
        with_memory=False,
    ),
    Curve(
        name="growth-snakemake",
        title="all of planning: `snakemake -n`, our part included",
        axis="jobs",
        label="jobs",
        prepare=planning.snakemake,
        fixed={"full": {}, "small": {}},
        values={"full": (10, 100, 1_000, 10_000), "small": (10, 40, 100)},
        with_memory=False,
    ),
)


def curves() -> Mapping[str, Curve]:
    """All curves by name."""
    return {curve.name: curve for curve in CURVES}
