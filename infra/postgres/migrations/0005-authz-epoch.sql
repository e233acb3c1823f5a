-- Where the newest answered change to people, tokens, grants or mailboxes lies in the log: a process whose copy of the
-- directory has not got there, or that cannot read this row, does not know who may do what.
create table work.authz_epoch (
  only_row boolean primary key default true check (only_row),
  position bigint not null
) with (fillfactor = 10);

insert into work.authz_epoch (position) values (-1);
