"""`probe`: changes the user's own rows for the worse, by rules, and looks whether the judge notices."""
