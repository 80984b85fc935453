"""Results over all matches without enumerating them: aggregates, the best matches, samples."""
