"""tacit.searchlog.loops"""
