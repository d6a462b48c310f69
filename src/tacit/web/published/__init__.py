"""Releases where others read them: what may cross from the owner's zone, as pages without a server, or with
sign-in.
"""
