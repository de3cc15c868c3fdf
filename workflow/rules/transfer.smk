rule transfer:
    # Embeddings and output bias moved to the target vocabulary.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/transfer/{{id}}"),
    log:
        f"{RESULTS}/logs/transfer/{{id}}.log",
    # The longest chains of stages go through here: they start first.
    priority: 10
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=32000,
        runtime=60,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft transfer {params.options} --out {output:q} --log {log:q}"
