-- What the sealer of audit trails remembers outside the read models. Every row carries an HMAC under a key from the key file:
-- somebody who can write here and has no key file cannot make the gateway sign another history.

-- How far the log was computed, by the sealer itself. One row; each change adds one to `version`.
create table vault.audit_watch (
  only_row boolean primary key default true check (only_row),
  version bigint not null,
  -- The audit name: the beginning of every origin. It never changes.
  name text not null,
  epoch bigint not null,
  -- Why the epoch began; null for the first one.
  epoch_reason text,
  epoch_comment text,
  -- The last event that was computed, and how many there were.
  position bigint not null,
  event_id uuid,
  events bigint not null,
  -- Set by a restore: the next round begins a new epoch.
  restored boolean not null default false,
  mac bytea not null
);

-- The tree of each trail at that position, and what was signed of it last.
create table vault.audit_tree (
  trail text collate "C" primary key,
  size bigint not null,
  frontier bytea not null,
  signed_epoch bigint,
  signed_size bigint not null default 0,
  -- When it is signed at the latest; null while nothing waits.
  due_at timestamptz,
  -- Why nothing is signed; null while all is well.
  broken text,
  mac bytea not null
);
create index audit_tree_due on vault.audit_tree (due_at) where due_at is not null;
create index audit_tree_broken on vault.audit_tree (trail) where broken is not null;

-- Every checkpoint. `released_at` is null until its event is in the log.
create table vault.audit_signed (
  trail text collate "C",
  epoch bigint,
  size bigint,
  note text not null,
  signed_at timestamptz not null default now(),
  released_at timestamptz,
  primary key (trail, epoch, size)
);
create index audit_signed_to_release on vault.audit_signed (trail) where released_at is null;

-- The signing keys of each trail, sealed under the key file's key together with trail and public key.
create table vault.audit_key (
  trail text collate "C",
  public_key bytea,
  wrapped bytea not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz,
  revoked_at timestamptz,
  -- The lines that were sealed when it was made, retired or revoked.
  from_size bigint not null default 0,
  to_size bigint,
  -- Since when it may be in wrong hands.
  revoked_since timestamptz,
  -- The note in which the key before introduces it; null for the first key, and after a revocation.
  rotation_note text,
  -- False while the log does not tell of the rotation or revocation.
  told boolean not null default true,
  primary key (trail, public_key)
);
create unique index audit_key_active on vault.audit_key (trail) where retired_at is null and revoked_at is null;

-- Where checkpoints were stored outside, or why not. `kind` is `file`; `name` says where.
create table vault.audit_anchor (
  trail text collate "C",
  epoch bigint,
  size bigint,
  kind text,
  name text,
  anchored_at timestamptz not null,
  -- Null when it is stored.
  error text,
  primary key (trail, epoch, size, kind, name)
);

-- Verifications of the whole log. One row: when one was asked for, and when the last one ran.
create table vault.audit_verification (
  only_row boolean primary key default true check (only_row),
  asked_at timestamptz,
  started_at timestamptz not null default now(),
  ended_at timestamptz
);
insert into vault.audit_verification default values;

-- What the last one found of each trail.
create table vault.audit_verified (
  trail text collate "C" primary key,
  size bigint not null,
  verified_at timestamptz not null,
  -- The first checkpoint or line that differs, and why; null when all agree.
  failed_size bigint,
  reason text
);
