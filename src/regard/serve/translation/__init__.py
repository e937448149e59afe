"""Translation: from texts to answers, over the loaded models."""
