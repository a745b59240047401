"""What a run looks like: pages of figures and rows, made from the files of a results folder."""
