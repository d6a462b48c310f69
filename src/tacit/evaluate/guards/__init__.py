"""tacit.evaluate.guards"""
