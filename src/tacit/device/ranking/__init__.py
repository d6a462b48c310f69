"""tacit.device.ranking"""
