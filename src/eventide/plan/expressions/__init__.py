"""What the conditions of every kind are made of."""
