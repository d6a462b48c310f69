"""Compiled loops of the synthetic world; machine code is cached under a fingerprint of this folder alone."""
