"""How far a number can be trusted: intervals, comparison of runs, rules. Numbers in, numbers out."""
