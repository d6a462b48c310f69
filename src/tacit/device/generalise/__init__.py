"""Generalise a seed profile under a risk bound: measures, mapping, algorithms."""
