"""The local web app: the pages of the report served from results folders, and a place to review rows."""
