"""Raw text in, raw text out."""
