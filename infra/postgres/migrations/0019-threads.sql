-- Threads: what References and In-Reply-To connect. A name is a Message-ID that a message has or refers to, by the first 64 bits of
-- a hash of its thread id, which is what mirror.message.thread_key is of the root.

create table mirror.thread_name (
  mailbox_number int not null,
  name_key bigint not null,
  thread_key bigint not null,
  primary key (mailbox_number, name_key)
);
create index thread_name_thread on mirror.thread_name (mailbox_number, thread_key);

create table mirror.thread (
  mailbox_number int not null,
  -- One of its names.
  thread_key bigint not null,
  -- The id of that name, which messages carry.
  thread_id text not null,
  -- Rows of mirror.thread_name: where two threads turn out to be one, the smaller goes into the larger.
  names int not null,
  primary key (mailbox_number, thread_key)
);

create table mirror.thread_version (
  mailbox_number int primary key,
  -- Grows when threads merge.
  version bigint not null default 0
);

-- Names of messages at or above this UID are in mirror.thread_name. Copies made before begin with none, and are walked through.
alter table mirror.folder add column named_from bigint not null default 4294967296;
