-- A search of middling size of its region from somebody whose record nobody shares.
WITH entries AS (SELECT *, count(DISTINCT sender) OVER (PARTITION BY record) AS alike
                 FROM read_parquet($log, hive_partitioning=false)),
     sized AS (SELECT *, list_sum([ln(high[i] - low[i] + 1) for i in range(1, len(low) + 1)]) AS size
               FROM entries WHERE guarded AND alike = 1)
SELECT record, low, high FROM sized
ORDER BY abs(size - (SELECT median(size) FROM sized)), time LIMIT 1
