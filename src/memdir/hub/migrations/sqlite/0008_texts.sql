-- A digest has no neighbours: each text that was written changed another page of their index. What came last is kept by
-- itself, on one page, and goes among the rest many at a time.
create table texts_settled (digest text not null, rev integer not null, primary key (digest, rev)) without rowid;
create table texts_latest (digest text not null, rev integer not null, primary key (digest, rev)) without rowid;
insert or ignore into texts_settled select substr(etag, 1, 8), rev from versions where etag is not null order by 1, 2;
-- Where a text of some eight first signs may stand, in whatever team.
create view texts as select digest, rev from texts_latest union all select digest, rev from texts_settled;
drop index versions_by_text;
