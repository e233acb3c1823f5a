-- First, so that no worker of an earlier version goes on with a copy that it remembers as it was.
update work.mailbox_lease set fence = fence + 1, until = now();

-- The provider's id of a message that went away (X-GM-MSGID): where it is seen next it is no new message.
alter table mirror.departed_message add column provider_id bigint;
alter table mirror.departed_message alter column message_id drop not null;
create index departed_message_provider on mirror.departed_message (mailbox_number, provider_id)
  where provider_id is not null;

-- A first pass that was begun anew over a copy that stayed would not see what goes away below where it is: it begins from nothing.
delete from mirror.message as m using mirror.folder as f
where f.mailbox_number = m.mailbox_number and f.folder_number = m.folder_number and m.uid < f.indexed_from;

delete from mirror.message_text as t using mirror.folder as f
where f.mailbox_number = t.mailbox_number and f.folder_number = t.folder_number and t.uid < f.indexed_from;

update mirror.folder as f set version = nextval('mirror.folder_version'),
  indexed = (select count(*) from mirror.message as m
    where m.mailbox_number = f.mailbox_number and m.folder_number = f.folder_number)
where f.indexed_from > 1;
