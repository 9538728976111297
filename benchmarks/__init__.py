"""Speed, measured beside a floor in the same run: one module a subject, each run as `python -m benchmarks.NAME`."""
