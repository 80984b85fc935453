def explain_plan(plan, format, physical=None): return "query"
