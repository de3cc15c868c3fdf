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
