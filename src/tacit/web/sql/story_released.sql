SELECT query, count, deviation FROM read_parquet($table, hive_partitioning=false)
