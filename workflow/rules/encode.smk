rule encode:
    # Vectors of a collection's evaluation sets.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        temp(directory(f"{RESULTS}/encode/{{id}}")),
    log:
        f"{RESULTS}/logs/encode/{{id}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=64000,
        runtime=1440,
        gpu=1,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft encode {params.options} --out {output:q} --log {log:q}"
