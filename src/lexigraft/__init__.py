"""Lexigraft: learned sparse retrieval, reproduced table by table and open to ablation."""

from importlib.metadata import version

__version__ = version("lexigraft")
