"""What people say of rows: flags, corrections, labels; kept line by line, and applied to a dataset."""
