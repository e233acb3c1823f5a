-- When each token was used last, to the minute. Not an event: losing it loses nothing that was decided.
create table work.token_use (
  token_id text primary key,
  last_used_at timestamptz not null
);
