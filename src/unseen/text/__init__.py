"""Text: words and numbers in sentences, LaTeX, tables in notebooks."""
