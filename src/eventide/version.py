"""The version of this package, for those parts that must not import the whole."""

VERSION = "0.1.0"
