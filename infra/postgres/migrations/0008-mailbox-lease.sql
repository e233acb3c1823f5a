-- Which process looks after a mailbox, and which changes of it are the gateway's own.

create table work.mailbox_lease (
  mailbox_id text primary key,
  run_id text not null,
  -- Counts every taking: a write that names an older one comes from a worker that was held up for too long.
  fence bigint not null,
  until timestamptz not null,
  -- When the worker last knew all that the mail server had to tell, and when the feed last grew.
  current_at timestamptz,
  last_event_at timestamptz
);

create table work.mail_echo (
  id bigint generated always as identity primary key,
  expectation_id uuid not null,
  mailbox_id text not null,
  operation_id text,
  change jsonb not null,
  -- The effect is over: a look that begins now sees it, or it never will be seen.
  settled boolean not null default false,
  noted_at timestamptz not null default now()
);
create index mail_echo_mailbox on work.mail_echo (mailbox_id);
create index mail_echo_expectation on work.mail_echo (expectation_id);
