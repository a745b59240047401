"""The run protocol: units by columns in chunks, shared by workers, kept the moment they exist, merged at the end."""
