/** The `Secrets` port: mail credentials sealed for their mailbox, passwords as argon2id. */
import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { openBox, sealBox } from './sealed-box.ts';
import type { KeyObject } from 'node:crypto';
import type { MailCredentials, Secrets, Sql } from '../../commands/kernel/ports.ts';

const hash = promisify(argon2);

/** The first choice of OWASP's Password Storage Cheat Sheet for argon2id; memory in KiB. */
const ARGON2ID = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };

const Credentials = z.strictObject({ username: z.string(), password: z.string() });

/** Secrets at rest in `vault`, under the master key. */
export function createSecrets(sql: Sql, masterKey: KeyObject): Secrets {
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
      const [row] = await sql.query<{ sealed: Buffer }>(
        'select sealed from vault.mail_credentials where mailbox_id = $1',
        [mailboxId],
      );
      if (row === undefined) return null;
      const content = openBox(masterKey, row.sealed, mailContext(mailboxId));
      if (content === null) throw new Error(`The credentials of ${mailboxId} were not sealed for it.`);
      return Credentials.parse(JSON.parse(content.toString()));
    },
    eraseMailCredentials: async (mailboxId) => {
      await sql.query('delete from vault.mail_credentials where mailbox_id = $1', [mailboxId]);
    },
    savePassword: async (userId, password) => {
      await sql.query(
        `insert into vault.password (user_id, argon2id) values ($1, $2)
         on conflict (user_id) do update set argon2id = excluded.argon2id, updated_at = now()`,
        [userId, await hashPassword(password)],
      );
    },
  };
}

const mailContext = (mailboxId: string): string => `mail_credentials ${mailboxId}`;

const encode = ({ username, password }: MailCredentials): Buffer =>
  Buffer.from(JSON.stringify({ username, password }));

/** argon2id of a password as a PHC string, which carries its own parameters and salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  // The same password typed on another keyboard may come decomposed (RFC 8265 4.2).
  const tag = await hash('argon2id', { message: password.normalize('NFC'), nonce: salt, ...ARGON2ID });
  const { memory, passes, parallelism } = ARGON2ID;
  const parameters = `m=${String(memory)},t=${String(passes)},p=${String(parallelism)}`;
  return `$argon2id$v=19$${parameters}$${unpadded(salt)}$${unpadded(tag)}`;
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
