"""tacit.privacy.ledger"""
