-- A text stays its author's: of whoever sent it to the team first, under whatever name and whoever sends it again (ADR 0082).
create index versions_by_text on versions (team, etag, rev) where etag is not null;
drop index versions_purged;
-- Members who were purged, and of whom something may stand in it: their own texts no longer tell.
alter table versions add column holds text;
update entries set member = (select v.member from versions v where v.team = entries.team and v.etag = entries.etag
  order by v.rev limit 1) where deleted = 0;

-- Apply changes to one team, each judged by itself. The team's row is locked first: revisions are given in the order
-- of commits, so that whoever asks with `since` misses nothing. sqlite_database.py does the same step by step.
create or replace function hub_apply(for_team text, by_member text, by_token text, at bigint, changes json) returns json
language plpgsql as $$
declare
  team_row teams;
  change record;
  entry entries;
  is_live boolean;
  outcome text;
  author text;
  answers json[] := '{}';
  start_revision bigint;
begin
  select * into team_row from teams where id = for_team for update;
  start_revision := team_row.revision;
  for change in
    select * from json_to_recordset(changes) as given(
      op text, key text, folded text, condition text, etag text, content text, size integer, saved bigint, reason text)
  loop
    select * into entry from entries where team = for_team and key = change.key;
    is_live := found and entry.deleted = 0;
    if change.op = 'delete' and not is_live then
      outcome := case when entry.key is null then 'missing' else 'same' end;
    elsif is_live and change.op = 'put' and entry.etag = change.etag then
      outcome := 'same';
    elsif (case when is_live then entry.etag end) is distinct from change.condition then
      outcome := 'conflict';
    elsif change.op = 'delete' then
      outcome := 'changed';
    elsif exists (
      select from versions where team = for_team and etag = change.etag and reason = 'purged') then
      outcome := 'purged';
    elsif change.size > team_row.max_entry_bytes then
      outcome := 'too-large';
    elsif not is_live and team_row.live_entries >= team_row.max_entries
       or team_row.live_bytes + change.size - (case when is_live then entry.size else 0 end) > team_row.max_bytes then
      outcome := 'cap';
    elsif not is_live and exists (
      select from entries where team = for_team and folded = change.folded and deleted = 0) then
      outcome := 'same-name';
    else
      outcome := case when is_live then 'changed' else 'created' end;
    end if;
    if outcome in ('changed', 'created') then
      team_row.revision := team_row.revision + 1;
      team_row.live_entries := team_row.live_entries
        + (change.op = 'put')::integer - is_live::integer;
      team_row.live_bytes := team_row.live_bytes + change.size - (case when is_live then entry.size else 0 end);
      select member into author from versions where team = for_team and etag = change.etag order by rev limit 1;
      insert into versions (team, rev, key, op, etag, size, content, member, token, saved, changed, reason)
        values (for_team, team_row.revision, change.key, change.op, change.etag, change.size, change.content,
                by_member, by_token, change.saved, at, change.reason);
      insert into entries (team, key, folded, rev, etag, size, deleted, reason, member, saved, changed)
        values (for_team, change.key, change.folded, team_row.revision, change.etag, change.size,
                (change.op = 'delete')::integer, change.reason, coalesce(author, by_member), change.saved, at)
        on conflict (team, key) do update set rev = excluded.rev, etag = excluded.etag, size = excluded.size,
          deleted = excluded.deleted, reason = excluded.reason, member = excluded.member, saved = excluded.saved,
          changed = excluded.changed
        returning * into entry;
    end if;
    answers := answers || json_build_array(
      change.key, outcome, entry.etag, coalesce(entry.rev, 0), coalesce(entry.deleted, 0) = 1);
  end loop;
  if team_row.revision > start_revision then
    update teams set revision = team_row.revision, live_entries = team_row.live_entries,
      live_bytes = team_row.live_bytes where id = for_team;
    perform pg_notify('memdir_hub', for_team);
  end if;
  return json_build_object('revision', team_row.revision, 'outcomes', array_to_json(answers));
end $$;
