-- Puts all rows of an account on one node of a database that has Citus: psql "$DATABASE_URL" -f distribute.sql
-- Each table is a transaction of its own. A second run skips what is done and continues what was interrupted.
\set ON_ERROR_STOP on

-- Several connections to a node would each see a moment of their own: a window as read, say, and not yet its bills.
select format('alter database %I set citus.max_adaptive_executor_pool_size = 1', current_database())
\gexec

-- Joined to the bills of every account, so that each node has a copy.
select 'select create_reference_table(''public.business_types'')'
where 'public.business_types'::regclass not in (select logicalrelid from pg_dist_partition)
\gexec

-- Every table whose key has the account beside other columns. The bills come first, and the others go beside them.
-- Leases, keys and what belongs to no account stay on the coordinator.
select format(
  'select create_distributed_table(%L, ''account'', colocate_with => %L)',
  'public.' || relname,
  case relname when 'bills' then 'none' else 'public.bills' end
)
from pg_constraint
join pg_class on pg_class.oid = conrelid
join pg_attribute on attrelid = conrelid and attnum = any(conkey)
where contype = 'p'
  and relnamespace = 'public'::regnamespace
  and attname = 'account'
  and cardinality(conkey) > 1
  and conrelid not in (select logicalrelid from pg_dist_partition)
order by relname <> 'bills', relname
\gexec

-- The coordinator's copies of rows that are on the nodes now, which no statement sees.
select format('select truncate_local_data_after_distributing_table(%L)', 'public.' || relname)
from pg_dist_partition
join pg_class on pg_class.oid = logicalrelid
where relnamespace = 'public'::regnamespace
  and pg_relation_size(logicalrelid) > 0
order by relname
\gexec
