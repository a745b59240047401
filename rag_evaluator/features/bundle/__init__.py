"""`bundle`: the program, the wheels it needs and models, in a folder; a node without network installs them."""
