"""The matchers: which of them can run a plan, and at what cost."""
