-- Why the operator revoked a key, until the log tells it; null for a key that was revoked before reasons were kept.
alter table vault.audit_key add column revoked_comment text;
