"""tacit.device.generalise"""
