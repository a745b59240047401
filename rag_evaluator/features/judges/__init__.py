"""Several judges on the same rows: which agrees best with labels, and at what cost."""
