-- Passwords being tried: how often in this minute, how often in vain, and until when nothing more is let in. Losing it
-- loses pauses and nothing else.
create table work.sign_in_attempt (
  -- `source`, `account` or `known` (an account from an address its person has signed in from), and HMACs of which.
  key text primary key,
  minute_began_at timestamptz not null,
  in_minute integer not null,
  failures integer not null default 0,
  failed_at timestamptz,
  not_before timestamptz
);
create index sign_in_attempt_by_age on work.sign_in_attempt (minute_began_at);

-- Links that count once: to set up the first organisation, to set a password.
create table work.one_time_link (
  token_sha256 bytea primary key,
  purpose text not null,
  subject text,
  expires_at timestamptz not null
);
