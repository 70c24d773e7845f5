import { sql, type Kysely } from 'kysely'

/** Datasets with their examples, and experiments with their results. `session` is empty for rows that no session takes with it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `create table datasets (
  tenant text not null,
  id text not null,
  name text not null,
  description text not null,
  scorers text not null,
  share text not null,
  revision integer not null,
  created_at bigint not null,
  updated_at bigint not null,
  constraint datasets_pk primary key (tenant, id)
)`,
  'create unique index datasets_name on datasets (tenant, name)',
  // An example lives from `revision` of its dataset until the revision in `until`.
  `create table examples (
  tenant text not null,
  dataset text not null,
  id text not null,
  revision integer not null,
  until integer,
  session text not null,
  name text not null,
  tags text not null,
  source text,
  content text not null,
  created_at bigint not null,
  constraint examples_pk primary key (tenant, dataset, id, revision)
)`,
  'create index examples_session on examples (session)',
  `create table example_media (
  tenant text not null,
  dataset text not null,
  example text not null,
  hash text not null,
  session text not null,
  media_type text not null,
  data text not null,
  constraint example_media_pk primary key (tenant, dataset, example, hash)
)`,
  'create index example_media_session on example_media (session)',
  `create table experiments (
  tenant text not null,
  id text not null,
  owner text not null,
  request_id text not null,
  body_hash text not null,
  spec text not null,
  configurations text not null,
  losses integer not null,
  done_before integer not null,
  status text not null,
  dataset text not null,
  config_hash text,
  verdict text,
  summary text,
  error text,
  created_at bigint not null,
  started_at bigint,
  ended_at bigint,
  constraint experiments_pk primary key (tenant, id)
)`,
  'create unique index experiments_request on experiments (tenant, owner, request_id)',
  `create index experiments_completed on experiments (tenant, dataset, config_hash, ended_at) where status = 'completed'`,
  `create table experiment_results (
  tenant text not null,
  experiment text not null,
  variant integer not null,
  example text not null,
  repetition integer not null,
  session text not null,
  outcome text not null,
  figures text not null,
  content text not null,
  trace text not null,
  created_at bigint not null,
  constraint experiment_results_pk primary key (tenant, experiment, variant, example, repetition)
)`,
  'create index experiment_results_session on experiment_results (session)',
]
