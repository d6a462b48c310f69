"""tacit.web.engines"""
