"""The matchers: kernels over columns, one package an algorithm."""
