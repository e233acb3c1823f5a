-- What was used is swept by the time of its use.
create index if not exists oauth_state_by_use on vault.oauth_state (consumed_at) where consumed_at is not null;
