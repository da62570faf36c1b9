"""What the agent did.

Streaming parsers for each CLI's events into one `Trace` shape, and the summaries made of it.
"""
