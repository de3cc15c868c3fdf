"""The comparisons: one module for each part of the package, and their order in the report."""

MODULES = ("head", "training", "encoding", "transfer", "search", "seismic")
