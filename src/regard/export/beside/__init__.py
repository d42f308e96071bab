"""Programs that are put beside an exported model: they need no regard, and no torch."""
