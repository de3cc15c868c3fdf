rule backbone:
    # A masked language model: fetched, found or pre-trained.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/backbone/{{id}}"),
    log:
        f"{RESULTS}/logs/backbone/{{id}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=32000,
        runtime=1440,
        gpu=1,
    params:
        options=lambda w: PLAN.options(w.id),
        launcher=lambda w, resources: launcher(resources.gpu),
    shell:
        "{params.launcher}lexigraft backbone {params.options} --out {output:q} --log {log:q}"


rule backbones:
    # Those that come with the repository, made anew; asked for by name, no part of `all`. Without
    # an output: what is in the repository is replaced whole, never removed, whatever its date.
    input:
        lambda w: retrained(PLAN),
    log:
        f"{RESULTS}/logs/backbones.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    shell:
        "lexigraft ship {input:q} --out workflow/backbones --log {log:q}"
