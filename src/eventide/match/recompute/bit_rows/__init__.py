"""Rows of bits that say which events a condition lets stand together."""
