-- In which epoch it was found; 0 = in one that is over, as far as an older version says.
alter table vault.audit_verified add column epoch bigint not null default 0;
-- A trail that is broken for another reason says nothing about when this one was found.
update vault.audit_verified v set epoch = w.epoch
  from vault.audit_watch w, vault.audit_tree t where t.trail = v.trail and t.broken = v.reason;
