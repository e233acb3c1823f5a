-- A mail of the gateway to an address without an account has a key of its own, under its UUID, until the mail ends. The index has
-- only keys that were not erased yet, so what an interrupted end left is found at any age.
create index personal_key_of_mail on vault.personal_key (owner_id)
  where wrapped is not null and owner_id like '________-____-____-____-____________';
