"""Files → better files: consolidation as a transaction that loses nothing."""
