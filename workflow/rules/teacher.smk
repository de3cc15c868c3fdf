rule teacher:
    # Scores of training pairs for the distilling objectives.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/teacher/{{id}}"),
    log:
        f"{RESULTS}/logs/teacher/{{id}}.log",
    # The longest chains of stages go through here: they start first.
    priority: 10
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=32000,
        runtime=720,
        gpu=1,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft teacher {params.options} --out {output:q} --log {log:q}"
