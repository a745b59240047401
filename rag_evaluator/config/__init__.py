"""The configuration: what `config.yaml` may say, how it is read, and where a fault of it is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
