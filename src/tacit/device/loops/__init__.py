"""Compiled loops of the device; machine code is cached under a fingerprint of this folder alone."""
