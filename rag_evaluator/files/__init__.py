"""Files written whole or line by line."""
