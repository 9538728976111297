"""Files to prompt: find the few memories that matter for a message, or none."""
