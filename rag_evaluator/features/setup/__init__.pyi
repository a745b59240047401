from .checking import check as check
from .checks import Check as Check
from .checks import CheckReport as CheckReport
