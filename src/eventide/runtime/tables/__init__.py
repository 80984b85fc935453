"""The table driver: a stage run over prepared batches to the end."""
