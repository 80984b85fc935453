"""How a stream is opened again from its dump."""
