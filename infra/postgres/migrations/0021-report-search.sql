-- How far the new messages of each mailbox were searched for delivery reports. When it is lost, the last days are searched again.

create table work.report_search (
  mailbox_id text primary key,
  position bigint not null
);
