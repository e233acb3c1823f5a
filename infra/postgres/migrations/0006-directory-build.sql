-- Counts up when `read.directory` was rebuilt: every process then loads its copy anew. In this row, because each of them
-- reads it twice a second already.
alter table work.authz_epoch add column directory_build bigint not null default 0;
