/** Sessions with their messages, runs with all that belongs to them, jobs and processes. The columns are described in `tables.ts`. */
export const chatTables = `
create table sessions (
  tenant text not null,
  owner text not null,
  session_id text not null,
  key text not null,
  short_name text not null,
  checkpoint_id text not null,
  active_run text,
  message_count integer not null,
  window_start integer not null,
  summary text,
  created_at bigint not null,
  updated_at bigint not null,
  metadata text,
  unstored integer,
  -- The owner comes last, because administrators search by id only.
  constraint sessions_pk primary key (tenant, session_id, owner)
);
create unique index sessions_key on sessions (key);
create index sessions_recent on sessions (tenant, owner, updated_at, session_id);
create index sessions_of_tenant on sessions (tenant, updated_at, session_id, owner);

create table messages (
  tenant text not null,
  session text not null,
  idx integer not null,
  role text not null,
  content text not null,
  created_at bigint not null,
  data text,
  constraint messages_pk primary key (session, idx)
);

create table media (
  tenant text not null,
  session text not null,
  request_id text not null,
  n integer not null,
  media_type text not null,
  data text not null,
  constraint media_pk primary key (session, request_id, n)
);

create table artifacts (
  tenant text not null,
  owner text not null,
  id text not null,
  session text not null,
  session_id text not null,
  request_id text not null,
  name text not null,
  type text not null,
  size bigint not null,
  sha256 text not null,
  tool text not null,
  created_at bigint not null,
  -- Ids grow with time, so the key is also the order of the list. A fork has the files of its source under the same ids.
  constraint artifacts_pk primary key (tenant, owner, id, session_id)
);
create index artifacts_id on artifacts (tenant, id);
create index artifacts_session on artifacts (session);

create table runs (
  tenant text not null,
  owner text not null,
  request_id text not null,
  session text,
  session_id text not null,
  operation text not null,
  body_hash text not null,
  request text,
  status text not null,
  on_disconnect text not null,
  holder text not null,
  fence integer not null,
  place bigint not null,
  message_index integer,
  agent text not null,
  model text not null,
  created_at bigint not null,
  started_at bigint,
  ended_at bigint,
  finish_reason text,
  continuable integer not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  total_tokens bigint not null,
  latency_ms bigint not null,
  error text,
  log text,
  ran_ms bigint not null default 0,
  work_rank integer,
  gone_at bigint,
  losses text,
  sub text,
  input text,
  config_version text,
  cost double precision,
  tool_errors integer,
  has_notifications integer,
  unstored integer,
  constraint runs_pk primary key (tenant, request_id, owner)
);
create index runs_waiting on runs (session, place) where status = 'pending';
-- Unended runs of a process. An entry for each run that begins, and none for ended runs.
create index runs_active on runs (holder) where status in ('pending', 'running');
-- By the key of the session, which grows: an index by ids of callers would touch another page with every chat.
create index runs_of_session on runs (session) where session is not null;
-- Direct tool executions have a session id and no session key.
create index executions_of_session on runs (tenant, session_id, owner) where operation = 'tool_execute';
-- Lists of runs. Conditions and columns never change before a run is removed, so that the end of a successful chat touches none of the next three:
-- SQLite rewrites the entry of every index that names an updated column. Direct tool executions and tombstones have no \`sub\`.
-- A list of all operations merges three parts of an index; a list of a rare operation reads no other runs.
create index runs_listed on runs (tenant, operation, created_at, request_id, owner) where sub is not null;
create index runs_listed_by_sub on runs (tenant, sub, created_at, request_id, owner, operation) where sub is not null;
create index runs_listed_by_version on runs (tenant, config_version, operation, created_at, request_id, owner) where sub is not null;
-- Successful runs are the most, and have no entry.
create index runs_listed_by_status on runs (tenant, status, created_at, request_id, owner, operation, sub, config_version)
  where sub is not null and status not in ('success', 'gone', 'pending', 'running');
create index runs_with_tool_errors on runs (tenant, created_at, request_id, owner) where sub is not null and tool_errors is not null;
-- Covers counts of the logs, and metric series.
create index runs_ended on runs (tenant, ended_at, request_id, owner, operation, status, latency_ms, total_tokens, cost, config_version, tool_errors)
  where ended_at is not null;
-- Unended async runs only.
create index runs_to_work on runs (work_rank) where status = 'pending' and work_rank is not null;
create index runs_at_work on runs (tenant, owner, work_rank) where status in ('pending', 'running') and work_rank is not null;
create index runs_gone on runs (tenant, gone_at) where status = 'gone';
create index runs_unstored on runs (ended_at) where unstored = 1;

create table run_steps (
  tenant text not null,
  owner text not null,
  request_id text not null,
  n integer not null,
  data text not null,
  constraint run_steps_pk primary key (tenant, owner, request_id, n)
);

create table run_tails (
  tenant text not null,
  owner text not null,
  request_id text not null,
  fence integer not null,
  first integer not null,
  last integer not null,
  restored integer not null,
  restored_at integer,
  events text not null,
  constraint run_tails_pk primary key (tenant, owner, request_id, fence, first)
);

create table run_tools (
  tenant text not null,
  owner text not null,
  request_id text not null,
  tool text not null,
  sub text not null,
  config_version text,
  created_at bigint not null,
  ended_at bigint,
  calls integer not null default 0,
  errors integer not null default 0,
  durations text,
  constraint run_tools_pk primary key (tenant, owner, request_id, tool)
);
create index run_tools_listed on run_tools (tenant, tool, created_at, request_id, owner, sub, config_version);
create index run_tools_ended on run_tools (tenant, ended_at, request_id, owner, tool);

create table approvals (
  tenant text not null,
  owner text not null,
  request_id text not null,
  call_id text not null,
  place integer not null,
  session_id text not null,
  tool text not null,
  input text not null,
  by text not null,
  requested_at bigint not null,
  expires_at bigint not null,
  decision text,
  new_input text,
  reason text,
  decided_by text,
  decided_at bigint,
  started_at bigint,
  -- The owner comes last, because approvers of other callers' calls search by id only.
  constraint approvals_pk primary key (tenant, request_id, call_id, owner)
);
create index approvals_open on approvals (tenant, requested_at, place) where decision is null;
-- Calls that wait for approval have no entry in the next two.
create index approvals_of_client on approvals (tenant, owner, call_id) where by = 'client';
create index approvals_open_of_client on approvals (tenant, owner) where by = 'client' and decision is null;

create table metrics (
  tenant text not null,
  hour bigint not null,
  success bigint not null default 0,
  error bigint not null default 0,
  cancelled bigint not null default 0,
  timeout bigint not null default 0,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  total_tokens bigint not null,
  latency_ms bigint not null,
  min_latency_ms bigint not null,
  max_latency_ms bigint not null,
  removed bigint not null default 0,
  constraint metrics_pk primary key (tenant, hour)
);

create table jobs (
  id text not null,
  kind text not null,
  tenant text not null,
  data text not null,
  due_at bigint not null,
  attempts integer not null,
  wanted_at bigint not null,
  rank integer not null default 0,
  constraint jobs_pk primary key (id)
);
create index jobs_due on jobs (kind, due_at);
create index jobs_ranked on jobs (kind, rank, due_at);

create table processes (
  id text primary key,
  alive_until bigint not null,
  started_at bigint,
  host text,
  version text
);

create table async_events (
  tenant text not null,
  owner text not null,
  event text not null,
  request_id text not null,
  session_id text not null,
  created_at bigint not null,
  constraint async_events_pk primary key (tenant, owner, event)
);
create index async_events_run on async_events (tenant, request_id);

create table callbacks (
  tenant text not null,
  owner text not null,
  request_id text not null,
  event_id text not null,
  url text not null,
  status text not null,
  attempts text not null,
  round integer not null,
  tries integer not null,
  created_at bigint not null,
  next_attempt_at bigint,
  constraint callbacks_pk primary key (tenant, owner, request_id)
);
create index callbacks_listed on callbacks (tenant, created_at, request_id, owner);
create index callbacks_of_owner on callbacks (tenant, owner, created_at, request_id, status);
create index callbacks_undelivered on callbacks (tenant, status, created_at, request_id, owner) where status <> 'delivered';

create table task_notifications (
  tenant text not null,
  owner text not null,
  request_id text not null,
  id text not null,
  url text not null,
  sealed text not null,
  links integer not null,
  status text not null,
  round integer not null,
  tries integer not null,
  created_at bigint not null,
  attempts text not null default '[]',
  next_attempt_at bigint,
  constraint task_notifications_pk primary key (tenant, owner, request_id, id)
);
create index task_notifications_listed on task_notifications (tenant, created_at, request_id, owner, id);
create index task_notifications_of_owner on task_notifications (tenant, owner, created_at, request_id, id, status);
create index task_notifications_undelivered on task_notifications (tenant, status, created_at, request_id, owner, id)
  where status <> 'delivered';
`
