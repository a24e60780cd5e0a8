-- Brings all rows back to the coordinator: psql "$DATABASE_URL" -f undo.sql
-- Each table is a transaction of its own. A second run continues what was interrupted.
\set ON_ERROR_STOP on

select format('select undistribute_table(%L)', 'public.' || relname)
from pg_dist_partition
join pg_class on pg_class.oid = logicalrelid
where relnamespace = 'public'::regnamespace
order by relname = 'bills', relname
\gexec

select format('alter database %I reset citus.max_adaptive_executor_pool_size', current_database())
\gexec
