"""The reader that records PyTorch, against minigrad's recorder."""
