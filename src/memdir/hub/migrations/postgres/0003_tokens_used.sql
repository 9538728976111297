-- When a token was last used, to some minutes.
alter table tokens add column used bigint;
