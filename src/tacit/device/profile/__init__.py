"""tacit.device.profile"""
