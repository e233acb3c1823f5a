-- The mirror of mailboxes: rebuilt from the mail server, never backed up.

-- LIKE '%…%' over many mailboxes: trigrams and the mailbox in one index.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

create sequence mirror.folder_version;

create table mirror.folder (
  mailbox_number int not null,
  folder_number int not null,
  uid_validity bigint not null,
  uid_next bigint not null,
  indexed_from bigint not null,
  highest_modseq bigint,
  total bigint not null,
  -- Rows of mirror.message, those marked \Deleted included.
  indexed bigint not null default 0,
  checked_at timestamptz not null,
  feed_position bigint,
  -- An update from a look before the last distrust leaves `trusted` behind.
  distrusts bigint not null default 0,
  trusted bigint not null default 0,
  -- Another number with every change of what the copy holds.
  version bigint not null default nextval('mirror.folder_version'),
  -- Until then a worker is told at once of what changes.
  vouched_until timestamptz,
  -- Whose word that is: it counts no longer than the worker's lease.
  vouched_by text,
  vouched_fence bigint,
  primary key (mailbox_number, folder_number)
);

-- What is looked through and what changes: small rows. Times are milliseconds since 1970.
create table mirror.message (
  mailbox_number int not null,
  folder_number int not null,
  uid bigint not null,
  received_at bigint not null,
  -- Null without a readable Date header.
  sent_at bigint,
  size bigint not null,
  -- The first 64 bits of a hash of the thread id and of the bare Message-ID: what they find is checked.
  thread_key bigint,
  message_key bigint,
  seen boolean not null,
  flagged boolean not null,
  answered boolean not null,
  draft boolean not null,
  deleted boolean not null,
  has_attachment boolean not null,
  -- As the server writes them; null = none.
  keywords text[],
  primary key (mailbox_number, folder_number, uid)
) with (fillfactor = 90);

create index message_received on mirror.message (mailbox_number, folder_number, received_at, uid);
create index message_sent on mirror.message
  (mailbox_number, folder_number, coalesce(sent_at, received_at), uid);
create index message_size on mirror.message (mailbox_number, folder_number, size, uid);
create index message_unseen on mirror.message (mailbox_number, folder_number, received_at, uid)
  where not seen and not deleted;
create index message_flagged on mirror.message (mailbox_number, folder_number, received_at, uid)
  where flagged and not deleted;
create index message_thread on mirror.message (mailbox_number, thread_key);
create index message_key on mirror.message (mailbox_number, message_key);

-- What never changes. `words` are the folded texts, by section; `envelope` is the rest of the message as JSON.
create table mirror.message_text (
  mailbox_number int not null,
  folder_number int not null,
  uid bigint not null,
  words text collate "C" not null,
  envelope text not null,
  primary key (mailbox_number, folder_number, uid)
);

-- The first 200 characters of the subject and of the first sender's address, as an order compares them.
create index message_subject on mirror.message_text
  (mailbox_number, folder_number, left(substr(split_part(words, E'\x1e', 1), 2), 200), uid);
create index message_from on mirror.message_text
  (mailbox_number, folder_number, left(split_part(split_part(words, E'\x1e', 2), E'\n', 3), 200), uid);
create index message_words on mirror.message_text using gin (mailbox_number, words gin_trgm_ops);
