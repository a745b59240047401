"""Evaluate RAG systems with ragas metrics and local Hugging Face models, offline, in the data's own language.

The public names stand in `__init__.pyi`; each is loaded when it is first used, as torch and ragas take seconds.
"""

import lazy_loader

from rag_evaluator.config.offline import stop_ragas_telemetry
from rag_evaluator.resources import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

stop_ragas_telemetry()
