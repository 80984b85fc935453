"""The candidates that end at one event with their conditions judged: a DAG that holds the matches, and nothing else."""
