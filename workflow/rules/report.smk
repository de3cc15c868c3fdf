# Reports take seconds, which is not worth a submission to a cluster: they are made where Snakemake runs.
rule table:
    # An experiment's rows: ours beside the reported values.
    input:
        "workflow/experiments/{experiment}.yaml",
        lambda w: evaluations(PLAN, w.experiment),
    output:
        csv=report(
            f"{RESULTS}/tables/{{experiment}}.csv",
            caption="../report/table.rst",
            category="Tables",
        ),
        md=f"{RESULTS}/tables/{{experiment}}.md",
        tex=f"{RESULTS}/tables/{{experiment}}.tex",
    log:
        f"{RESULTS}/logs/table/{{experiment}}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        config=PLAN.config_words,
        title=lambda w: PLAN.experiments[w.experiment].title,
    shell:
        "lexigraft table {wildcards.experiment} {params.config} --log {log:q}"


rule figure:
    # An experiment's picture.
    input:
        "workflow/experiments/{experiment}.yaml",
        lambda w: evaluations(PLAN, w.experiment),
    output:
        png=report(
            f"{RESULTS}/figures/{{experiment}}.png",
            caption="../report/figure.rst",
            category="Figures",
        ),
        svg=f"{RESULTS}/figures/{{experiment}}.svg",
    log:
        f"{RESULTS}/logs/figure/{{experiment}}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        config=PLAN.config_words,
    shell:
        "lexigraft figure {wildcards.experiment} {params.config} --log {log:q}"


rule claims:
    # Sentences of the papers as tests of what was measured.
    input:
        "workflow/claims.yaml",
        evaluations(PLAN, *PLAN.experiments),
    output:
        json=f"{RESULTS}/claims.json",
        md=report(
            f"{RESULTS}/claims.md", caption="../report/claims.rst", category="Claims"
        ),
    log:
        f"{RESULTS}/logs/claims.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        config=PLAN.config_words,
        experiments=PLAN.with_words,
        level=PLAN.config.significance,
    shell:
        "lexigraft claims {params.config} {params.experiments} --significance {params.level} --log {log:q}"


rule index:
    # One page for people: claims, then each table with its figure.
    input:
        expand(f"{RESULTS}/tables/{{e}}.csv", e=PLAN.tables),
        expand(f"{RESULTS}/figures/{{e}}.png", e=PLAN.figures),
        f"{RESULTS}/claims.json",
    output:
        f"{RESULTS}/index.html",
    log:
        f"{RESULTS}/logs/index.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        config=PLAN.config_words,
        experiments=PLAN.with_words,
    shell:
        "lexigraft index {params.config} {params.experiments} --log {log:q}"
