/** What a tenant has beside its chats, and the state that all replicas share. The columns are described in `tables.ts`. */
export const tenantTables = `
create table access_keys (
  jti text primary key,
  tenant text not null,
  sub text not null,
  roles text not null,
  created_at bigint not null,
  expires_at bigint not null,
  revoked_at bigint,
  last_used_at bigint,
  created_by text,
  created_by_key text
);
create index access_keys_revoked on access_keys (revoked_at) where revoked_at is not null;
create index access_keys_age on access_keys (tenant, expires_at);
create index access_keys_listed on access_keys (tenant, created_at, jti);
create index access_keys_created_by on access_keys (tenant, created_by) where created_by is not null;
create index access_keys_created_by_key on access_keys (tenant, created_by_key) where created_by_key is not null;

create table console_codes (
  hash text primary key,
  tenant text not null,
  issuer text not null,
  key_id text not null,
  identity text not null,
  created_at bigint not null,
  expires_at bigint not null,
  used_at bigint
);
create index console_codes_key on console_codes (tenant, issuer, key_id, created_at);
create index console_codes_age on console_codes (expires_at);

create table console_sessions (
  hash text primary key,
  tenant text not null,
  issuer text not null,
  key_id text not null,
  identity text not null,
  created_at bigint not null,
  expires_at bigint not null
);
create index console_sessions_key on console_sessions (tenant, issuer, key_id, created_at);
create index console_sessions_age on console_sessions (expires_at);

create table uploads (
  tenant text not null,
  owner text not null,
  id text not null,
  purpose text not null,
  name text not null,
  type text not null,
  size bigint not null,
  sha256 text not null,
  is_stored integer not null,
  created_at bigint not null,
  expires_at bigint,
  constraint uploads_pk primary key (id)
);
create index uploads_owner on uploads (tenant, owner, id);
create index uploads_purpose on uploads (tenant, purpose, id);
create index uploads_age on uploads (tenant, created_at) where purpose <> 'knowledge';
create index uploads_expiry on uploads (expires_at);
create index uploads_expired on uploads (tenant, expires_at) where expires_at is not null;

create table upload_usage (
  tenant text not null,
  owner text not null,
  bytes bigint not null,
  constraint upload_usage_pk primary key (tenant, owner)
);

create table knowledge_documents (
  tenant text not null,
  id text not null,
  name text not null,
  version text not null,
  replaces integer,
  state text not null,
  error text,
  metadata text not null,
  revision bigint not null,
  passages integer,
  constraint knowledge_documents_pk primary key (tenant, id)
);
create index knowledge_documents_state on knowledge_documents (tenant, state, revision);
create index knowledge_documents_name on knowledge_documents (tenant, name);

create table knowledge_revisions (
  tenant text not null,
  revision bigint not null,
  removals bigint not null,
  constraint knowledge_revisions_pk primary key (tenant)
);

create table sub_agents (
  tenant text not null,
  owner text not null,
  id text not null,
  name text not null,
  description text not null,
  objective text not null,
  tools text not null,
  workflow_type text not null,
  made_by text not null,
  has_failed integer not null,
  busy_by text not null,
  busy_until bigint not null,
  created_at bigint not null,
  last_active bigint not null,
  constraint sub_agents_pk primary key (tenant, owner, id)
);
create unique index sub_agents_name on sub_agents (tenant, owner, name);

create table memories (
  tenant text not null,
  owner text not null,
  id text not null,
  kind text not null,
  origin text not null,
  content text not null,
  created_at bigint not null,
  updated_at bigint not null,
  -- The vector is the last column, so that reads of other columns do not pass over the vector.
  embedding_model text,
  embedding text,
  constraint memories_pk primary key (tenant, owner, id)
);
create index memories_age on memories (tenant, updated_at);

create table memory_sources (
  tenant text not null,
  memory text not null,
  session text not null,
  session_id text not null,
  message_index integer not null,
  made_by text not null,
  created_at bigint not null,
  constraint memory_sources_pk primary key (memory, session, message_index)
);
create index memory_sources_session on memory_sources (session);

create table memory_owners (
  tenant text not null,
  owner text not null,
  version bigint not null,
  constraint memory_owners_pk primary key (tenant, owner)
);

create table feedback (
  tenant text not null,
  owner text not null,
  request_id text not null,
  score double precision not null,
  comment text,
  created_at bigint not null,
  constraint feedback_pk primary key (tenant, owner, request_id)
);

create table configurations (
  -- A new configuration takes the number after the one that its author has seen, and a number can be taken once.
  n integer primary key,
  version text not null unique,
  kind text not null,
  content text not null,
  diff text not null,
  made_by text,
  made_at bigint not null
);

create table configuration_texts (
  id text primary key,
  n integer not null
);

create table secrets (
  name text primary key,
  sealed text not null,
  changed_at bigint not null
);

create table tool_pins (
  entry text not null,
  server text not null,
  tools text not null,
  revision integer not null,
  constraint tool_pins_pk primary key (entry, server)
);

create table search_vectors (
  encoder text not null,
  hash text not null,
  used_at bigint not null,
  vector text not null,
  constraint search_vectors_pk primary key (hash, encoder)
);

create table search_leases (
  encoder text primary key,
  holder text not null,
  until bigint not null
);

create table search_segments (
  tenant text not null,
  owner text not null,
  segment integer not null,
  last_updated_at bigint not null,
  last_session_id text not null,
  last_owner text not null,
  constraint search_segments_pk primary key (tenant, owner, segment)
);

create table search_slices (
  tenant text not null,
  owner text not null,
  segment integer not null,
  slice integer not null,
  bits text not null,
  constraint search_slices_pk primary key (tenant, owner, segment, slice)
);

create table search_documents (
  tenant text not null,
  owner text not null,
  document integer not null,
  session text not null,
  constraint search_documents_pk primary key (tenant, owner, document)
);
create index search_documents_session on search_documents (session, tenant);
`
