"""Text to tokens: tokenizer, chat template, vocabulary, and what a grammar leaves of it."""
