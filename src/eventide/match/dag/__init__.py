"""The shared-DAG automaton (CORE with tECS, abella.md 7): all matches, constant work per event."""
