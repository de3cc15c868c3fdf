"""One module a stage: from input folders to an output folder, for the command and the workflow."""
