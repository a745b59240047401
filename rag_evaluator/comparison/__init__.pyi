from .compare_runs import compare as compare
from .compare_runs import write_report as write_report
from .gate_run import MARK as MARK
from .gate_run import gate as gate
from .gate_run import write_junit as write_junit
from .gate_verdicts import GateVerdicts as GateVerdicts
from .saved_scores import scales_for as scales_for
