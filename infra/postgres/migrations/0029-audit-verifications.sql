-- A request is cleared by the end of a verification that began after it.
update vault.audit_verification set asked_at = null where asked_at <= started_at and ended_at >= started_at;

-- Earlier than `started_at` while a verification runs, and after one that broke off. None began in a new installation.
alter table vault.audit_verification alter column ended_at set default now();
update vault.audit_verification set ended_at = started_at where ended_at is null;
