"""The metrics that are not ragas', as classes with the methods of ragas' own; each is a row of `METRICS`."""
