"""The configuration: what `config.yaml` may say, how it is read, and where a fault of it is."""
