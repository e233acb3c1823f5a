-- The provider's id of a message that it may show in several folders (X-GM-MSGID), as a signed number of 64 bits.
alter table mirror.message add column provider_id bigint;

create index message_provider on mirror.message (mailbox_number, provider_id) where provider_id is not null;

-- Copies made before do not know it: their first pass begins anew, and what is answered meanwhile is asked of the server.
update mirror.folder set indexed_from = greatest(uid_next, 2);
