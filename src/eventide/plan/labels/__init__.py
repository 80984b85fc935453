"""From the labels of an automaton to the tables that kernels read: conditions, absences, summaries of paths."""
