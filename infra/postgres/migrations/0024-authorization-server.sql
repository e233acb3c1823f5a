-- What the authorization server keeps between two steps: requests, codes, refresh tokens, and the metadata of applications that
-- no organisation registered. Ids are secrets: only their SHA-256 is stored, and a row opens only with the id.
create table vault.oauth_state (
  model text not null,
  id_sha256 bytea not null,
  sealed bytea not null,
  -- Of codes and refresh tokens.
  grant_id text,
  -- Of refresh tokens: 0 for the first of a grant.
  rotation int,
  -- Of a request: SHA-256 of what the browser must show when it returns from the decision.
  decided_sha256 bytea,
  consumed_at timestamptz,
  -- Null = never.
  expires_at timestamptz,
  primary key (model, id_sha256)
);
create index oauth_state_by_grant on vault.oauth_state (grant_id) where grant_id is not null;
create index oauth_state_by_end on vault.oauth_state (expires_at) where expires_at is not null;
