"""Gates: whether a candidate is worth keeping, judged on the selection split.

`strict` is the paper's rule, `paired` the default, `off` accepts unmeasured; each is one file behind one protocol.
"""
