"""Quality measured on labelled data: one module a set, each run as `python -m evals.NAME`."""
