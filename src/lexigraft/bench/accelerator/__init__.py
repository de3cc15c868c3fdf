"""`python -m lexigraft.bench.accelerator`: is the sparse head right and fast on this GPU?"""
