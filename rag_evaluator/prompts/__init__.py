"""Prompts: English sources, packs of other languages, and what hands them to the metrics."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
