"""People's labels: tables of them, rows drawn for them, and what they say of a judge."""
