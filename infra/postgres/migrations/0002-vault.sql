-- Keys, credentials and sessions. Backed up with the event store; nothing here can be rebuilt.
-- Every `wrapped` or `sealed` value is AES-256-GCM under the key file's key.

-- Keys that never rotate, by name: locator and id keys.
create table vault.gateway_key (
  name text primary key,
  wrapped bytea not null,
  created_at timestamptz not null default now()
);

-- Private keys of the access tokens. Retired ones stay published until their last token has expired.
create table vault.signing_key (
  kid text primary key,
  wrapped bytea not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);
create unique index signing_key_active on vault.signing_key ((true)) where retired_at is null;

-- One per person, agent or mailbox, for the personal fields inside events. `wrapped` is null once erased: the row stays
-- so that an erased owner never gets a second key.
create table vault.personal_key (
  owner_id text primary key,
  wrapped bytea,
  created_at timestamptz not null default now(),
  erased_at timestamptz,
  check ((wrapped is null) = (erased_at is not null))
);

create table vault.mail_credentials (
  mailbox_id text primary key,
  sealed bytea not null,
  updated_at timestamptz not null default now()
);

create table vault.password (
  user_id text primary key,
  argon2id text not null,
  updated_at timestamptz not null default now()
);

create table vault.mcp_session (
  id_sha256 bytea primary key,
  token_id text not null,
  org_id text not null,
  principal_id text not null,
  revision text not null,
  advanced_tools boolean not null,
  created_at timestamptz not null,
  used_at timestamptz not null
);
create index mcp_session_by_token on vault.mcp_session (token_id, used_at);
create index mcp_session_by_use on vault.mcp_session (used_at);
