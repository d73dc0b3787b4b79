"""Filter schemes on whole traces: the interface of their kernels, and the kernels of the built-in schemes.

No scheme imports anything from here: its `kernels` names a class, which evaluations look up.
"""
