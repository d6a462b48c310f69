"""tacit.pool.simulation"""
