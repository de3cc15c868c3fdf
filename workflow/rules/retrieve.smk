rule retrieve:
    # The best documents of each query.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/retrieve/{{id}}"),
    log:
        f"{RESULTS}/logs/retrieve/{{id}}.log",
    params:
        options=lambda w: PLAN.options(w.id),
    resources:
        mem_mb=64000,
        runtime=480,
    shell:
        "lexigraft retrieve {params.options} --out {output} --log {log}"
