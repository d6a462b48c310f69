"""k-query anonymity (Adar), the baseline: what at least k users asked, published as it is."""
