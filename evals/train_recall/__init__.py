"""How recall's shipped numbers were learned: `table` makes the embedding table, `calibrate` the decision's weights.

Both need the extra `train` and folders given as arguments; none of it is needed to install, run or test memdir.
"""
