/** The `Secrets` port: mail credentials sealed for their mailbox, passwords as argon2id. */
import { z } from 'zod';
import { MAIL_PROVIDERS } from '../../commands/ports/mail-logins.ts';
import { PasswordHashes } from './password-hashes.ts';
import { weaknessOf } from './password-strength.ts';
import { openBox, sealBox } from './sealed-box.ts';
import type { KeyObject } from 'node:crypto';
import type { MailCredentials } from '../../commands/ports/mail-logins.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import type { HashedPassword, Secrets } from '../../commands/ports/sign-in-port.ts';

const Credentials = z.union([
  z.strictObject({
    kind: z.literal('oauth2'),
    provider: z.enum(MAIL_PROVIDERS),
    username: z.string(),
    refreshToken: z.string().nullable(),
    accessToken: z.string(),
    accessTokenExpiresAt: z.iso.datetime(),
    hosts: z.string(),
  }),
  // The oldest stored ones were passwords only and name no kind.
  z.strictObject({
    kind: z.literal('password').default('password'),
    username: z.string(),
    password: z.string(),
  }),
]);

/** Secrets at rest in `vault`, under the master key. */
export function createSecrets(sql: Sql, masterKey: KeyObject): Secrets {
  const hashes = new PasswordHashes();
  return {
    saveMailCredentials: async (mailboxId, credentials) => {
      const box = sealBox(masterKey, encode(credentials), mailContext(mailboxId));
      await sql.query(
        `insert into vault.mail_credentials (mailbox_id, sealed) values ($1, $2)
         on conflict (mailbox_id) do update set sealed = excluded.sealed, updated_at = now()`,
        [mailboxId, box],
      );
    },
    loadMailCredentials: async (mailboxId) => {
      const rows = await sql.query<{ sealed: Buffer }>(SELECT_CREDENTIALS, [mailboxId]);
      return opened(masterKey, mailboxId, rows);
    },
    changeMailCredentials: (mailboxId, change) =>
      sql.transaction(async (transaction) => {
        await transaction.query(BOUND_CHANGE, [WAIT_FOR_CHANGE_MS, MOST_CHANGE_MS]);
        const rows = await transaction.query<{ sealed: Buffer }>(`${SELECT_CREDENTIALS.text} for update`, [
          mailboxId,
        ]);
        const before = opened(masterKey, mailboxId, rows);
        const after = before && (await change(before));
        if (after === null || after === before) return before;
        const box = sealBox(masterKey, encode(after), mailContext(mailboxId));
        await transaction.query(
          'update vault.mail_credentials set sealed = $2, updated_at = now() where mailbox_id = $1',
          [mailboxId, box],
        );
        return after;
      }),
    eraseMailCredentials: async (mailboxId) => {
      await sql.query('delete from vault.mail_credentials where mailbox_id = $1', [mailboxId]);
    },
    weaknessOf,
    hashPassword: (password) => hashes.hash(password),
    savePassword: (userId, password) => writePassword(sql, userId, password),
    erasePassword: async (userId) => {
      await sql.query('delete from vault.password where user_id = $1', [userId]);
    },
    verifyPassword: async (userId, password) => {
      const stored = await readPassword(sql, userId);
      if (!(await hashes.verify(stored, password))) return null;
      return { isCurrent: async () => (await readPassword(sql, userId)) === stored };
    },
  };
}

const mailContext = (mailboxId: string): string => `mail_credentials ${mailboxId}`;

const SELECT_CREDENTIALS = {
  name: 'mail_credentials',
  text: 'select sealed from vault.mail_credentials where mailbox_id = $1',
};

/** A change calls a provider, within a time below these; a process that stalls in between loses the row. */
const MOST_CHANGE_MS = 20_000;
const WAIT_FOR_CHANGE_MS = 25_000;
const BOUND_CHANGE = `select set_config('statement_timeout', $1, true),
  set_config('idle_in_transaction_session_timeout', $2, true)`;

const encode = (credentials: MailCredentials): Buffer =>
  Buffer.from(JSON.stringify(Credentials.parse(credentials)));

function opened(
  masterKey: KeyObject,
  mailboxId: string,
  [row]: readonly { readonly sealed: Buffer }[],
): MailCredentials | null {
  if (row === undefined) return null;
  const content = openBox(masterKey, row.sealed, mailContext(mailboxId));
  if (content === null) throw new Error(`The credentials of ${mailboxId} were not sealed for it.`);
  return Credentials.parse(JSON.parse(content.toString()));
}

/** Replaces the previous one. */
export async function writePassword(sql: Sql, userId: string, password: HashedPassword): Promise<void> {
  await sql.query(
    `insert into vault.password (user_id, argon2id) values ($1, $2)
     on conflict (user_id) do update set argon2id = excluded.argon2id, updated_at = now()`,
    [userId, password],
  );
}

/** Null for no person (null), and for a person without a password. Its salt is new with every password set. */
export async function readPassword(sql: Sql, userId: string | null): Promise<HashedPassword | null> {
  const [row] = await sql.query<{ argon2id: HashedPassword }>(
    'select argon2id from vault.password where user_id = $1',
    [userId],
  );
  return row?.argon2id ?? null;
}
