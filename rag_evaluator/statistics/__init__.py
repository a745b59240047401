"""How far a number can be trusted: intervals, comparison of runs, rules. Numbers in, numbers out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
