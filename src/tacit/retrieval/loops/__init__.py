"""Compiled loops of retrieval; machine code is cached under a fingerprint of this folder alone."""
