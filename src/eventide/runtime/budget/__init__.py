"""What a run may spend: the caps that users set, and the memory that there is."""
