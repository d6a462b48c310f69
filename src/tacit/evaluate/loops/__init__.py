"""tacit.evaluate.loops"""
