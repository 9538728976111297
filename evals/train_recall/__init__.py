"""Making recall's numbers from lessons: `pool` gathers plain text, `train` makes the table and the sentence model,
`export` writes the model's file, `calibrate` learns the decision.

docs/recall-ranking.md says how to run them and which lessons there are. All need the extra `train`; none of it is
needed to install, run or test memdir.
"""
