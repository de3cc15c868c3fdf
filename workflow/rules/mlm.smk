rule mlm:
    # Masked-language-model adaptation, or further MLM as the control.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/mlm/{{id}}"),
    log:
        f"{RESULTS}/logs/mlm/{{id}}.log",
    # The longest chains of stages go through here: they start first.
    priority: 10
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=64000,
        runtime=1440,
        gpu=1,
    params:
        options=lambda w: PLAN.options(w.id),
        launcher=lambda w, resources: launcher(resources.gpu),
    shell:
        "{params.launcher}lexigraft mlm {params.options} --out {output:q} --log {log:q}"
