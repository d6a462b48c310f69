"""tacit.world.loops"""
