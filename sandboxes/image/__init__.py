"""The image agents run in: its recipe as packaged data, and the ways to get it onto a machine.

`image.ensure_image` is the one to call; the image's digest, not its tag, is what an attempt's record holds. Nothing is
imported here: whoever only wants the recipe's name needs no client of an engine.
"""
