"""The theory of Vocabulary Transfer, section 3, measured on encoded pairs.

Shapes: N pairs of a query and a document, V keys, V' keys after coarse-graining, S sign draws.
"""
