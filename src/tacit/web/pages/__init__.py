"""The pages, one module each; every module has ``routes(console)``."""
