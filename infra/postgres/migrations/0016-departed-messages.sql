-- What went away from folders lately: whoever asks for one of these messages by its old id is told where it lies now.

create table mirror.departed_message (
  mailbox_number int not null,
  folder_number int not null,
  uid_validity bigint not null,
  uid bigint not null,
  -- As in the header; a message without one is not here.
  message_id text not null,
  size bigint not null,
  -- Milliseconds since 1970, as in mirror.message.
  received_at bigint not null,
  departed_at timestamptz not null default now(),
  primary key (mailbox_number, folder_number, uid_validity, uid)
);
create index departed_message_age on mirror.departed_message (mailbox_number, departed_at);
