"""tacit.groups.loops"""
