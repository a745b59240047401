"""Makes the pages of the documentation that are made of the program itself, and the links between all pages."""
