rule retrieve:
    # The best documents of each query.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/retrieve/{{id}}"),
    log:
        f"{RESULTS}/logs/retrieve/{{id}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=64000,
        runtime=480,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft retrieve {params.options} --out {output:q} --log {log:q}"
