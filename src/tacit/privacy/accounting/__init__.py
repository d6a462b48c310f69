"""tacit.privacy.accounting"""
