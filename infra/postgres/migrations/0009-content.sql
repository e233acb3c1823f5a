-- Bodies, uploads and frozen messages, encrypted under a key of their own each, which is wrapped under the key file's key.

create table vault.content (
  id text primary key,
  kind text not null check (kind in ('upload', 'body', 'mime')),
  mailbox_id text not null,
  draft_id text not null,
  wrapped bytea not null,
  -- Name, type, size and SHA-256 of the whole, under the content's key. Null until the last chunk is stored.
  sealed_facts bytea,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create index content_by_draft on vault.content (draft_id);
create index content_by_mailbox on vault.content (mailbox_id);
create index content_expiry on vault.content (expires_at) where expires_at is not null;

create table vault.content_chunk (
  content_id text not null,
  number int not null,
  sealed bytea not null,
  primary key (content_id, number)
);
-- Ciphertext does not get smaller.
alter table vault.content_chunk alter column sealed set storage external;

-- What the gateway put into Drafts folders: nothing else may be taken out of them again. `uid` is null while an append
-- may be under way.
create table vault.draft_copy (
  draft_id text not null,
  message_id text not null,
  mailbox_id text not null,
  version int not null,
  folder_number int not null,
  uid_validity bigint not null,
  uid bigint,
  from_uid bigint not null,
  made_at timestamptz not null default now(),
  primary key (draft_id, message_id)
);
