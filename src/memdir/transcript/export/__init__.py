"""A session as a text that people read: Markdown for editors and diffs, one HTML page for the browser (J4)."""
