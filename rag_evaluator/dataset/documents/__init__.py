"""Documents that questions are made from: files of many kinds, read as text and cut into chunks."""
