-- Times are milliseconds since 1970, yes and no are 1 and 0: the same statements run on both databases.
create table teams (
  id text primary key,
  name text not null unique,
  revision integer not null default 0,
  live_entries integer not null default 0,
  live_bytes integer not null default 0,
  max_entries integer not null,
  max_entry_bytes integer not null,
  max_bytes integer not null,
  created integer not null
);

create table members (
  team text not null references teams (id) on delete cascade,
  id text not null,
  name text not null,
  role text not null check (role in ('reader', 'writer', 'admin')),
  active integer not null default 1,
  purged integer,  -- the revision at which all that they wrote was removed
  created integer not null,
  primary key (team, id),
  unique (team, name)
);

create table tokens (
  id text primary key,
  hash text not null unique,  -- SHA-256; the token itself is nowhere
  team text,  -- null: for the metrics of the whole hub
  member text,
  label text not null,
  scopes text not null,
  created integer not null,
  expires integer,
  revoked integer,
  foreign key (team, member) references members (team, id) on delete cascade
);
create index tokens_of_member on tokens (team, member);

create table entries (
  team text not null,
  key text not null,
  folded text not null,  -- what two keys have in common that differ in case only
  rev integer not null,
  etag text,
  size integer not null,
  deleted integer not null,
  reason text not null,
  member text not null,
  saved integer not null,
  changed integer not null,
  primary key (team, key)
) without rowid;

create table versions (
  team text not null,
  rev integer not null,
  key text not null,
  op text not null,
  etag text,
  size integer not null,
  content text,  -- null: deleted, or erased
  member text not null,
  token text,
  saved integer not null,
  changed integer not null,
  reason text not null,
  redacted integer,
  primary key (team, rev)
);

create index entries_by_revision on entries (team, rev);
create index entries_by_folded_key on entries (team, folded);
create index versions_of_entry on versions (team, key, rev);

create table actions (
  id integer primary key autoincrement,
  team text,
  at integer not null,
  member text,
  token text,
  action text not null,
  what text not null
);
create index actions_of_team on actions (team, at);

create table jobs (
  id integer primary key autoincrement,
  team text not null references teams (id) on delete cascade,
  kind text not null,
  state text not null check (state in ('waiting', 'running', 'done', 'failed')),
  attempts integer not null default 0,
  created integer not null,
  lease text,  -- known only to the worker that runs it
  leased_until integer,
  finished integer,
  error text
);
create unique index jobs_that_wait on jobs (team, kind) where state = 'waiting';
create index jobs_by_state on jobs (state, id);

create table proposals (
  id integer primary key autoincrement,
  team text not null references teams (id) on delete cascade,
  job integer not null,
  op text not null,
  key text not null,
  base text,  -- the ETag that it was made from
  content text,
  reason text not null,
  state text not null check (state in ('open', 'accepted', 'rejected')),
  created integer not null,
  decided_by text,
  decided integer
);
create index proposals_of_team on proposals (team, state, id);

