rule theory:
    # Complexity, compatibility error and bound of section 3 on judged pairs.
    input:
        lambda w: PLAN.inputs(w.id),
    output:
        directory(f"{RESULTS}/theory/{{id}}"),
    log:
        f"{RESULTS}/logs/theory/{{id}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=32000,
        runtime=60,
        gpu=1,
    params:
        options=lambda w: PLAN.options(w.id),
    shell:
        "lexigraft theory {params.options} --out {output:q} --log {log:q}"
