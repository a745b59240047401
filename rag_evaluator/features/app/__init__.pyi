from .apply import Applied as Applied
from .apply import apply_reviews as apply_reviews
