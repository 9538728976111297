-- A team keeps the last revision of the backup that it was restored from, changes of one proposal know each other, and a
-- text that was purged cannot be written again.
alter table teams add column restored integer not null default 0;
-- The first change of the same proposal; null: this is it.
alter table proposals add column part_of integer;
-- What was accepted is among the versions.
update proposals set content = null where state <> 'open';
update versions set reason = 'purged' where op = 'put' and redacted is not null and exists (select 1 from versions d
  where d.team = versions.team and d.key = versions.key and d.rev > versions.rev and d.reason = 'purged');
create index versions_purged on versions (team, key) where reason = 'purged';
