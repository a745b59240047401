"""The judge: a local language model behind ragas' own interface, whose answers always parse."""
