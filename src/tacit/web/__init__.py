"""The private search that people open in a browser, and the search server it can stand before."""
