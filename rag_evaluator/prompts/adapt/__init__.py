"""Makes the prompts of a language with the judge."""
