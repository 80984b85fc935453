"""From query and schema to a Plan: bind, rewrite, automaton, conditions, choice of matcher."""
