"""How any text is cut: tokens, clauses, grammars, expressions."""
