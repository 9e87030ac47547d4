"""Sentences to vectors with all-MiniLM-L6-v2. `python -m examples.minilm` shows it; `model.py` is the whole model."""
