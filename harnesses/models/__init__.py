"""Model clients.

Anthropic's and OpenAI's protocols behind one `ModelClient`: structured output, usage, prices, bounded retries.
"""
