"""Text as numbers: strict reading, a report before training, pieces, a corpus on disk, batches. No torch here."""
