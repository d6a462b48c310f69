"""tacit.privacy.noise"""
