"""Memory for LLM agents as plain Markdown files."""
