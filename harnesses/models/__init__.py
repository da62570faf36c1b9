"""Model clients.

The anthropic and openai SDKs behind one `ModelClient`: structured output, usage, prices, bounded retries.
"""
