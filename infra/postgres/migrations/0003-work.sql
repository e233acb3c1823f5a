-- Leases and what projections could not apply; checkpoints of the read models.

create table work.lease (
  name text primary key,
  run_id text not null,
  until timestamptz not null
);

create table work.parked_event (
  projection text not null,
  position bigint not null,
  event_id uuid not null,
  type text not null,
  error text not null,
  attempts int not null default 1,
  parked_at timestamptz not null default now(),
  primary key (projection, position)
);

-- `version` is that of the read model's tables; another one means a rebuild from the start.
create table read.checkpoint (
  projection text primary key,
  version int not null,
  position bigint not null,
  updated_at timestamptz not null default now()
);
