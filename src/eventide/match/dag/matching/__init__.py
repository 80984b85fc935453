"""The matchers over nodes at work: what they hold, and how accepts become matches."""
