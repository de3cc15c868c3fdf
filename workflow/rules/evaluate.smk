rule evaluate:
    # Metrics for each query and on average.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/evaluate/{{id}}"),
    log:
        f"{RESULTS}/logs/evaluate/{{id}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=16000,
        runtime=60,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft metrics {params.options} --out {output:q} --log {log:q}"
