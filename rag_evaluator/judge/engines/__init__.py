"""What runs the judge's model."""
