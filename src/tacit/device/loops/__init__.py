"""tacit.device.loops"""
