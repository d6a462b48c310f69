"""Decide what is sent with a query, withhold the rest, and record what each upstream was told."""
