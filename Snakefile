# Table of contents: what there is to make, and one rule file a stage.
from lexigraft.specs.snakefile import begin, evaluations, launcher, load_plan, retrained


configfile: "config.yaml"


PLAN = load_plan(workflow.basedir, config)
RESULTS = str(PLAN.config.results)


onstart:
    begin(workflow, RESULTS)


wildcard_constraints:
    id="[a-z0-9.-]+",
    experiment="[a-z0-9_-]+",


rule all:
    # What is missing of it is made again, with what was made from it.
    input:
        f"{RESULTS}/index.html",
        multiext(f"{RESULTS}/claims", ".json", ".md"),
        expand(
            f"{RESULTS}/tables/{{e}}.{{form}}",
            e=PLAN.tables,
            form=["csv", "md", "tex"],
        ),
        expand(f"{RESULTS}/figures/{{e}}.{{form}}", e=PLAN.figures, form=["png", "svg"]),
        PLAN.kept,
    localrule: True


include: "workflow/rules/corpus.smk"
include: "workflow/rules/backbone.smk"
include: "workflow/rules/vocabulary.smk"
include: "workflow/rules/transfer.smk"
include: "workflow/rules/mlm.smk"
include: "workflow/rules/calibrate.smk"
include: "workflow/rules/teacher.smk"
include: "workflow/rules/finetune.smk"
include: "workflow/rules/encode.smk"
include: "workflow/rules/retrieve.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/bench.smk"
