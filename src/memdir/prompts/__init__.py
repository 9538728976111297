"""All text a model reads, one Markdown file a prompt, and the composer that renders them (P8)."""
