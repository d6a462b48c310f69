"""tacit.release.document"""
