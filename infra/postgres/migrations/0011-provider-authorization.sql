-- Authorizations that a provider was asked for and has not answered yet: ten minutes at most, answered once.
-- `sealed` holds who asked for which mailbox, and what proves that an answer belongs to the question.
create table vault.provider_authorization (
  state_sha256 bytea primary key,
  mailbox_id text not null,
  sealed bytea not null,
  expires_at timestamptz not null
);
create index provider_authorization_by_mailbox on vault.provider_authorization (mailbox_id);
create index provider_authorization_by_end on vault.provider_authorization (expires_at);
