"""The joins and chains of recomputation as they are published, and a join by sweeps: peers of what the matcher does."""
