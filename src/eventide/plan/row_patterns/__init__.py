"""From a MATCH_RECOGNIZE clause and the columns of its input to a plan that runtimes run."""
