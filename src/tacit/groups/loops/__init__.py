"""Compiled loops of the groups; machine code is cached under a fingerprint of this folder alone."""
