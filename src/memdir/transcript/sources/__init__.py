"""Where conversations come from: our own transcripts and those of other agents, all read in the same way."""
