"""Where an agent runs.

Engines behind one `Sandbox` protocol, the hardened profile, and the gateway: the one door out.
"""
