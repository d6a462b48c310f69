"""tacit.device.sending"""
