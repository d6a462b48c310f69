"""The owner's desk: a page on this machine that shows data sets and starts the commands one would type."""
