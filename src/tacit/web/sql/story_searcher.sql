-- Somebody with enough clicks for a profile and a sensitive interest among theirs: their queries, and
-- whether that interest stands behind each.
WITH people AS (
    SELECT "user", list_intersect(interests, $told)[1] AS private, behind
    FROM read_parquet($truth, hive_partitioning=false)
    WHERE list_has_any(interests, $told) AND list_contains(sensitive, false)
), records AS (
    SELECT "user", query, url, "time",
           row_number() OVER (PARTITION BY "user" ORDER BY file_row_number) AS place
    FROM read_parquet($log, hive_partitioning=false, file_row_number=true)
), chosen AS (
    SELECT "user" FROM people JOIN records USING ("user")
    GROUP BY ALL HAVING count(url) BETWEEN 30 AND 400
    ORDER BY least(count(DISTINCT query) FILTER (behind[place] = private), 5) DESC,
             count(url) DESC, "user" LIMIT 1
)
SELECT "user", query, count(DISTINCT "time"), bool_or(coalesce(behind[place] = private, false)),
       count(*)
FROM records JOIN people USING ("user") JOIN chosen USING ("user")
GROUP BY ALL ORDER BY 3 DESC, query
