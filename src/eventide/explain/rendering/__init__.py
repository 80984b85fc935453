"""One description of a plan, rendered as text and as diagrams."""
