"""Filter schemes on whole traces: what their kernels are given, and the kernels of the built-in schemes.

Nothing here is imported by a scheme: its `kernels` names a class, which whoever judges traces looks up.
"""
