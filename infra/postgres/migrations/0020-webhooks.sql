-- Webhooks: signing secrets, and parts of payloads that every attempt repeats.

-- Sealed under the key file's key. Events name a secret by its id.
create table vault.webhook_secret (
  id text primary key,
  endpoint_id text not null,
  sealed bytea not null,
  created_at timestamptz not null default now()
);
create index webhook_secret_by_endpoint on vault.webhook_secret (endpoint_id);

-- The summary of a message as the first attempt sent it, sealed under the mailbox's key; null where it could not be had.
create table vault.webhook_payload (
  event_id text primary key,
  mailbox_id text not null,
  summary text,
  created_at timestamptz not null default now()
);
create index webhook_payload_by_age on vault.webhook_payload (created_at);
create index webhook_payload_by_mailbox on vault.webhook_payload (mailbox_id);

-- Deliveries that a run has taken, unrecorded until their outcome is in the log. Kept after that until the read model
-- shows the end.
create table work.delivery_claim (
  delivery_id text primary key,
  endpoint_id text not null,
  org_id text not null,
  run_id text not null,
  recorded boolean not null default false
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index delivery_claim_by_run on work.delivery_claim (run_id);

-- One row: the position up to which the read model `webhooks` was seen. Nothing is claimed below it.
create table work.delivery_progress (
  one boolean primary key default true check (one),
  highest bigint not null
);
