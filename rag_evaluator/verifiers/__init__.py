"""Small models that say how surely a text supports a sentence, in one pass, without writing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
