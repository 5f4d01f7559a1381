"""posvec: golden vectors for learned position embeddings, and a verifier for any implementation of them."""

__version__ = "0.1.0"
