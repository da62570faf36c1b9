"""The one door out of a sandbox.

A credential-injecting model proxy on a unix socket per attempt; it counts, caps and refuses.
"""
