rule finetune:
    # Retrieval fine-tuning.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/finetune/{{id}}"),
    log:
        f"{RESULTS}/logs/finetune/{{id}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=64000,
        runtime=2880,
        gpu=1,
    params:
        options=lambda w: PLAN.options(w.id),
        launcher=lambda w, resources: launcher(resources.gpu),
    shell:
        "{params.launcher}lexigraft finetune {params.options} --out {output:q} --log {log:q}"
