"""ZEALOUS (paper 004): histograms of a log's items with two thresholds."""
