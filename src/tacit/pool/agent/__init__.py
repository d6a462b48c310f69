"""tacit.pool.agent"""
