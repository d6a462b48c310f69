"""tacit.pool.server"""
