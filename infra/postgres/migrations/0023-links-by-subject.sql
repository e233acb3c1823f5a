-- A new link replaces the unused one of the same purpose and subject: only the newest of them is kept.
delete from work.one_time_link as link using work.one_time_link as newer
  where link.purpose = newer.purpose and link.subject = newer.subject
    and (link.expires_at, link.token_sha256) < (newer.expires_at, newer.token_sha256);
create unique index one_time_link_by_subject on work.one_time_link (purpose, subject);
