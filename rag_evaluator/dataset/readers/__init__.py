"""The file formats of input rows."""
