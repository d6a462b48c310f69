"""How a plan is found: what the planners of all mechanisms share."""
