-- What a write changes is written page by page, so few pages are to change: the versions of one entry are looked for in
-- the order they were written in, which is read through quickly, and not where each of its own lies.
drop index versions_of_entry;
create index versions_of_entry on versions (team, rev, key);
-- Eight signs of a digest tell it from nearly all others, of whatever team.
drop index versions_by_text;
create index versions_by_text on versions (substr(etag, 1, 8)) where etag is not null;
