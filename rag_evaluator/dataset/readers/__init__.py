"""Files of a kind -> records."""
