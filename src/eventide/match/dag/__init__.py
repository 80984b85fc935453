"""The shared-DAG automaton (CORE with tECS, Abella 2022, 5): all matches, constant work per event."""
