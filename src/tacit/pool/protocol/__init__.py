"""tacit.pool.protocol"""
