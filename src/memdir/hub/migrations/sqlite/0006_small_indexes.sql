-- A digest has no neighbours: each text that is written changes another page of its index, so that is kept small.
drop index versions_by_text;
create index versions_by_text on versions (team, substr(etag, 1, 12)) where etag is not null;
-- Most keys have no capitals: they are their own folded form, and found as keys.
drop index entries_by_folded_key;
create index entries_by_folded_key on entries (team, folded) where key <> folded;
