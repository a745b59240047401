"""People's labels: tables of them, rows drawn for them, and what they say of a judge."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
