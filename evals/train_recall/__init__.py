"""Making recall's numbers: `table` the table and the sentence model, `export` its file, `calibrate` the decision.

docs/recall-ranking.md says which shipped file came from which of them, and which from an earlier script. All need the
extra `train` and folders given as arguments; none of it is needed to install, run or test memdir.
"""
