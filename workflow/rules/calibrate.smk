rule calibrate:
    # Activation potential calibration.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/calibrate/{{id}}"),
    log:
        f"{RESULTS}/logs/calibrate/{{id}}.log",
    # The longest chains of stages go through here: they start first.
    priority: 10
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=32000,
        runtime=60,
        gpu=1,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft calibrate {params.options} --out {output:q} --log {log:q}"
