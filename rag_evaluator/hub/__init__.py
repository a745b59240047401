"""Look-up, fingerprints and batches of models; embedding models as ragas asks for them; the door to ragas."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
