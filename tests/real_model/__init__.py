"""An opt-in check against a real small model on loopback (`make real-model`): a model that nobody scripted.

It trains two small task families with the chat harness, once with the small model as its own optimizer and once, as
control, with a proposer that only copies failed training cases into the skill. It shows that honed works with noise,
real token counts and imperfect structured output; it is no evidence for the worth of the method.
"""
