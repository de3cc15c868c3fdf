"""One module a stage: from input folders to an output folder. The command and the workflow call these."""
