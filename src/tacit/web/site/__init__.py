"""The search page as a web application: who may use it, and its pages."""
