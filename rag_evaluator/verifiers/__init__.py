"""Small models that say how surely a text supports a sentence, in one pass, without writing."""
