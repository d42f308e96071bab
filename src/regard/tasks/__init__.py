"""What a model is trained for: data, loss, measure, and what to show."""
