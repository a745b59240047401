"""`duel`: which of two runs answers better, row by row, by the judge."""
