CREATE TEMP TABLE IF NOT EXISTS queries AS
SELECT query, sum(searches)::BIGINT AS searches, count(*) AS users
FROM (SELECT user, query, count(*) AS searches
      FROM (SELECT DISTINCT "user" AS user, query, time FROM log)
      GROUP BY user, query)
GROUP BY query
