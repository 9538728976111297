-- By which a hub that was brought back from a backup knows again whose a text is (ADR 0083).
alter table teams add column seal_key text not null default '';
update teams set seal_key = replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
