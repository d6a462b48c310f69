"""tacit.release.mechanisms"""
