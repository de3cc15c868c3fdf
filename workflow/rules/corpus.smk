rule corpus:
    # Evaluation sets, training pairs and text of one collection, as BEIR folders.
    output:
        directory(f"{RESULTS}/corpus/{{id}}"),
    log:
        f"{RESULTS}/logs/corpus/{{id}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=16000,
        runtime=240,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft corpus {params.options} --out {output:q} --log {log:q}"
