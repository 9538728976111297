-- A text stays its author's: of whoever sent it to the team first, under whatever name and whoever sends it again (ADR 0082).
create index versions_by_text on versions (team, etag, rev) where etag is not null;
drop index versions_purged;
-- Members who were purged, and of whom something may stand in it: their own texts no longer tell.
alter table versions add column holds text;
update entries set member = (select v.member from versions v where v.team = entries.team and v.etag = entries.etag
  order by v.rev limit 1) where deleted = 0;
