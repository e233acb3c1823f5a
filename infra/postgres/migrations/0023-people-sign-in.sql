-- A new link replaces the unused one of the same purpose and subject: only the newest of them is kept.
delete from work.one_time_link as link using work.one_time_link as newer
  where link.purpose = newer.purpose and link.subject = newer.subject
    and (link.expires_at, link.token_sha256) < (newer.expires_at, newer.token_sha256);
create unique index one_time_link_by_subject on work.one_time_link (purpose, subject);

-- The devices from which people signed in, so that a sign-in from another one can be told to them. Losing it loses that.
create table work.known_device (
  user_id text not null,
  -- HMAC of browser, system and network.
  device bytea not null,
  seen_at timestamptz not null,
  primary key (user_id, device)
);
create index known_device_by_age on work.known_device (seen_at);
