"""tacit.web.site"""
