-- Which processes that work on mail are alive: what one of them vouches for counts no longer than its heart beats.

create table work.worker_heartbeat (
  run_id text primary key,
  -- Another one after every time the heart stood still: what was vouched for before that counts no more.
  life uuid not null,
  until timestamptz not null
) with (fillfactor = 50);

alter table mirror.folder add column vouched_life uuid;
