"""Runs, stages, experiments and claims as typed records."""
