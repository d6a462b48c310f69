"""tacit.audit"""
