from .stage import ProbeReport as ProbeReport
from .stage import probe as probe
