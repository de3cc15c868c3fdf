rule bench:
    # Time and memory of ours, against its peers and as sizes grow; asked for by name, no part of `all`.
    output:
        csv=f"{RESULTS}/bench/bench.csv",
        md=report(
            f"{RESULTS}/bench/bench.md",
            caption="../report/bench.rst",
            category="Benchmark",
        ),
        png=report(
            f"{RESULTS}/bench/bench.png",
            caption="../report/bench.rst",
            category="Benchmark",
        ),
        svg=f"{RESULTS}/bench/bench.svg",
        growth=multiext(f"{RESULTS}/bench/growth", ".csv", ".svg"),
        growth_md=report(
            f"{RESULTS}/bench/growth.md",
            caption="../report/growth.rst",
            category="Benchmark",
        ),
        growth_png=report(
            f"{RESULTS}/bench/growth.png",
            caption="../report/growth.rst",
            category="Benchmark",
        ),
    log:
        f"{RESULTS}/logs/bench.log",
    conda:
        "../../envs/cpu.yaml"
    # As many as there are, so that nothing else runs beside a measurement.
    threads: 16
    resources:
        mem_mb=24000,
        runtime=120,
    params:
        out=subpath(output.csv, parent=True),
    shell:
        "lexigraft bench --out {params.out} --log {log}"
