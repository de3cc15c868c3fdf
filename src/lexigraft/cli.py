"""The `lexigraft` command: one sub-command a stage, and those that a person uses by hand."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from lexigraft.errors import LexigraftError
from lexigraft.refusals import told_in_one_sentence
from lexigraft.specs.stages import STAGES
from lexigraft.stage_commands import MODEL_PLACE, Out, stage_command

app = typer.Typer(
    help="Learned sparse retrieval, reproduced table by table and open to ablation.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
COMMAND_OF_STAGE = {"evaluate": "metrics"}
REFERENCE = Path("results/reference/mini")
"""The one that is committed."""


for _stage, _spec_class in STAGES.items():
    app.command(COMMAND_OF_STAGE.get(_stage, _stage))(
        told_in_one_sentence(stage_command(_spec_class))
    )


@app.command()
@told_in_one_sentence
def evaluate(
    *,
    model: Annotated[Path, typer.Option(help="Folder of an encoder.", **MODEL_PLACE)],
    dataset: Annotated[Path, typer.Option(help="BEIR folder: corpus, queries and qrels.")],
    split: Annotated[str, typer.Option(help="Which qrels judge.")] = "test",
    engine: Annotated[str, typer.Option(help="Search engine: exact or seismic.")] = "exact",
    query_length: Annotated[int, typer.Option(help="Tokens of a query; 0: the model's own.")] = 0,
    document_length: Annotated[
        int, typer.Option(help="Tokens of a document; 0: the model's own.")
    ] = 0,
    out: Out,
) -> None:
    """Encode, search and measure any model on any BEIR folder."""
    from lexigraft.stages.standalone import evaluate_model

    evaluate_model(
        model=model,
        dataset=dataset,
        split=split,
        engine=engine,
        out=out,
        query_length=query_length,
        document_length=document_length,
    )


@app.command()
@told_in_one_sentence
def bm25(
    *,
    dataset: Annotated[Path, typer.Option(help="BEIR folder: corpus, queries and qrels.")],
    split: Annotated[str, typer.Option(help="Which qrels judge.")] = "test",
    out: Out,
) -> None:
    """The lexical baseline on any BEIR folder, in the same form."""
    from lexigraft.stages.standalone import evaluate_bm25

    evaluate_bm25(dataset=dataset, split=split, out=out)


Scale = Annotated[str, typer.Option(help="Scale that was run.")]
Rows = Annotated[str, typer.Option(help="Rows that were run: main or all.")]
Results = Annotated[Path, typer.Option(help="Folder of the results.")]
Significance = Annotated[float, typer.Option(help="Level of the tests that decide claims.")]
With = Annotated[list[str], typer.Option("--with", help="Experiment that was run; repeatable.")]
Seeds = Annotated[list[int], typer.Option("--seed", help="Seed that was run; repeatable.")]


def _plan(
    scale: str,
    rows: str,
    results: Path,
    experiments: list[str],
    seeds: list[int],
    significance: float = 0.05,
) -> Any:
    from lexigraft.specs.config import load_config
    from lexigraft.specs.plan import build_plan

    root = Path.cwd()
    if not (root / "workflow" / "schemas").is_dir():
        raise LexigraftError(
            f"{root}: no folder workflow/schemas; reports are made in the repository, beside its "
            "Snakefile: go there and state --results"
        )
    if not experiments:
        raise LexigraftError("--with: no experiment; 1 or more are needed")
    values: dict[str, Any] = {"scale": scale, "experiments": experiments}
    values |= {"rows": rows} if rows else {}
    values |= {"seeds": seeds} if seeds else {}
    values |= {"results": str(results), "significance": significance}
    return build_plan(load_config(root, values))


@app.command()
@told_in_one_sentence
def table(
    experiment: Annotated[str, typer.Argument(help="Name of the experiment.")],
    *,
    scale: Scale = "mini",
    rows: Rows = "",
    results: Results = Path("results"),
    seeds: Seeds = [],  # noqa: B006
) -> None:
    """Write an experiment's table as CSV, Markdown and LaTeX."""
    from lexigraft.report.tables import write_table

    plan = _plan(scale, rows, results, [experiment], seeds)
    write_table(plan.experiments[experiment], results, results / "tables" / experiment)


@app.command()
@told_in_one_sentence
def figure(
    experiment: Annotated[str, typer.Argument(help="Name of the experiment.")],
    *,
    scale: Scale = "mini",
    rows: Rows = "",
    results: Results = Path("results"),
    seeds: Seeds = [],  # noqa: B006
) -> None:
    """Draw an experiment's figure as PNG and SVG."""
    from lexigraft.report.figures import write_figure

    plan = _plan(scale, rows, results, [experiment], seeds)
    write_figure(plan.experiments[experiment], results, results / "figures" / experiment)


@app.command()
@told_in_one_sentence
def claims(
    *,
    scale: Scale = "mini",
    rows: Rows = "",
    results: Results = Path("results"),
    significance: Significance = 0.05,
    experiments: With = [],  # noqa: B006
    seeds: Seeds = [],  # noqa: B006
) -> None:
    """Test the papers' claims on what was measured."""
    from lexigraft.analysis.claims import write_claims
    from lexigraft.specs.claims import load_claims

    plan = _plan(scale, rows, results, experiments, seeds, significance)
    write_claims(
        load_claims(Path.cwd()), plan.experiments, results, results / "claims", significance
    )


@app.command()
@told_in_one_sentence
def tables(
    *,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Every row, against the paper's.")
    ] = False,
    cost: Annotated[
        bool, typer.Option("--cost", help="What each takes, by the times of a reference.")
    ] = False,
    reference: Annotated[Path, typer.Option(help="Folder of a reference.")] = REFERENCE,
    scale: Scale = "mini",
    rows: Rows = "all",
) -> None:
    """List the experiments that there are; what becomes of each row, or what each costs."""
    if coverage and cost:
        raise LexigraftError("--coverage and --cost: both found; one of them is allowed")
    from lexigraft.reference.costs import costs
    from lexigraft.report.coverage import coverage as text
    from lexigraft.specs.experiments import experiment_names

    plan = _plan(scale, rows, Path("results"), experiment_names(Path.cwd()), [])
    if coverage:
        print(text(plan.experiments.values()))
        return
    if cost:
        print(costs(plan, reference))
        return
    for name, experiment in plan.experiments.items():
        print(f"{name:12} {experiment.title}")


@app.command()
@told_in_one_sentence
def index(
    *,
    scale: Scale = "mini",
    rows: Rows = "",
    results: Results = Path("results"),
    experiments: With = [],  # noqa: B006
    seeds: Seeds = [],  # noqa: B006
) -> None:
    """Write index.html: the claims, then every table with its figure, on one page."""
    from lexigraft.report.page import write_page

    write_page(_plan(scale, rows, results, experiments, seeds).experiments, results)


@app.command()
@told_in_one_sentence
def summary(*, results: Results = Path("results")) -> None:
    """Print the main table, the verdicts and where the tables and figures are."""
    from lexigraft.report.summary import summary as text

    print(text(results))


@app.command()
@told_in_one_sentence
def reference(
    *,
    scale: Scale = "mini",
    rows: Rows = "",
    results: Results = Path("results"),
    significance: Significance = 0.05,
    experiments: With = [],  # noqa: B006
    seeds: Seeds = [],  # noqa: B006
    out: Out,
) -> None:
    """Keep the tables, claims and figures of a finished run, and what made them, as a reference.

    Without --with, of every table that is in the results.
    """
    from lexigraft.reference.cells import tables_in
    from lexigraft.reference.gather import write_reference
    from lexigraft.reference.told import kept

    made = experiments or [path.stem for path in tables_in(results)]
    plan = _plan(scale, rows, results, made, seeds, significance)
    print(kept(write_reference(plan, out), out))


@app.command()
@told_in_one_sentence
def compare(
    *,
    results: Results = Path("results"),
    reference: Annotated[Path, typer.Option(help="Folder of a reference.")] = REFERENCE,
    tolerance: Annotated[
        float, typer.Option(help="What is no difference, in units of the last printed digit.")
    ] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with all differences.")] = False,
) -> None:
    """Hold a run against a reference: exit code 0 if it agrees, 1 if something differs."""
    from lexigraft.reference.compare import compare as held_against
    from lexigraft.reference.told import record, text

    found = held_against(results, reference, tolerance)
    print(
        json.dumps(record(found), indent=2, ensure_ascii=False, allow_nan=False)
        if as_json
        else text(found)
    )
    if not found.agrees:
        sys.exit(1)


@app.command()
@told_in_one_sentence
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Comparisons and curves; all by default.")
    ] = None,
    *,
    pairs: Annotated[int, typer.Option(help="Timed calls of each side, or size.")] = 5,
    threads: Annotated[int, typer.Option(help="Threads of each side.")] = 2,
    sizes: Annotated[
        Literal["full", "small"], typer.Option(help="full, or small for a quick try.")
    ] = "full",
    out: Out,
) -> None:
    """Measure time and memory of ours: against its peers, and as sizes grow."""
    from lexigraft.bench.bench import bench as measure_all

    measure_all(names or [], out=out, pairs=pairs, threads=threads, sizes=sizes)


@app.command()
@told_in_one_sentence
def ship(
    backbones: Annotated[list[Path], typer.Argument(help="Outputs of `backbone`, pre-trained.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder that gets one folder for each.")],
) -> None:
    """Write pre-trained backbones in half precision, with records and checksums, to be shipped."""
    from lexigraft.encoders.shipped import ship_backbones

    ship_backbones(backbones, out)
