"""The relational engines: the only modules that know DuckDB or Spark SQL."""
