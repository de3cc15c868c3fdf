rule vocabulary:
    # A tokenizer trained on a collection's text, without a model.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/vocabulary/{{id}}"),
    log:
        f"{RESULTS}/logs/vocabulary/{{id}}.log",
    # The longest chains of stages go through here: they start first.
    priority: 10
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=64000,
        runtime=240,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft vocabulary {params.options} --out {output:q} --log {log:q}"
