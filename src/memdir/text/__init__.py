"""What a text is made of, and who said it. Knows no files and no memories."""
