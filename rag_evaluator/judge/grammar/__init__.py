"""What an answer may look like: schema, grammar, budget."""
