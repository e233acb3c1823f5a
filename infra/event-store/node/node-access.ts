/**
 * Access to the embedded node, for processes that can read its folder. Password and certificate are created
 * there once, so that no other account of the machine can read or append, or take over the node's port while
 * it is not running.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Metadata } from '@grpc/grpc-js';
import { z } from 'zod';

const USERNAME = 'gateway';
const PASSWORD_BYTES = 32;

/** Trust in the certificate comes from the folder alone, so renewal would add nothing. */
const LAST_DAY = new Date('2090-01-01');

const Access = z.object({ password: z.string(), private_key: z.string(), certificate: z.string() });
type Access = z.output<typeof Access>;

export interface NodeAccess {
  readonly credentials: ServerCredentials;
  /** True if the metadata of a call contains the password. */
  readonly isSignedIn: (metadata: Metadata) => boolean;
  /**
   * The address for any EventStoreDB client of this machine, over TLS. Contains the password: never log it.
   */
  readonly urlAt: (port: number) => string;
  /**
   * The same without TLS, only for the node's own process: no other process can take its port while it is in
   * use.
   */
  readonly ownUrlAt: (port: number) => string;
}

/**
 * Reads password and certificate from the folder, or creates them. The certificate is valid for localhost and
 * 127.0.0.1. Throws one sentence when the file exists but cannot be used.
 */
export async function openNodeAccess(folder: string): Promise<NodeAccess> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
  const { password, private_key, certificate } = await readOrMake(join(folder, 'access.json'));
  // Clients read the trusted certificate from a separate file.
  const caFile = resolve(folder, 'ca.pem');
  await writePrivate(caFile, certificate);
  const pair = { private_key: Buffer.from(private_key), cert_chain: Buffer.from(certificate) };
  const expected = digest(`Basic ${Buffer.from(`${USERNAME}:${password}`).toString('base64')}`);
  const trusted = `tls=true&tlsCAFile=${encodeURIComponent(caFile)}`;
  return {
    credentials: ServerCredentials.createSsl(null, [pair], false),
    isSignedIn: (metadata) => timingSafeEqual(digest(String(metadata.get('authorization')[0])), expected),
    // By name: TLS sends no IP address as server name (RFC 6066 3), and Node warns about it.
    urlAt: (port) => `esdb://${USERNAME}:${password}@localhost:${String(port)}?${trusted}`,
    ownUrlAt: (port) => `esdb://${USERNAME}:${password}@127.0.0.1:${String(port)}?tls=false`,
  };
}

async function readOrMake(file: string): Promise<Access> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return make(file);
  try {
    return Access.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(
      `${file} does not hold password and certificate of the event node: delete it, and the next start makes new ones.`,
      { cause },
    );
  }
}

async function make(file: string): Promise<Access> {
  // Loaded only at the first start on this folder: all other starts are a tenth faster without it.
  const { generate } = await import('selfsigned');
  const made = await generate([{ name: 'commonName', value: 'embedded event node' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notAfterDate: LAST_DAY,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ],
  });
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const access = { password, private_key: made.private, certificate: made.cert };
  await writePrivate(file, `${JSON.stringify(access, null, 2)}\n`);
  return access;
}

/** Writes atomically, readable only by this account from the first byte. */
async function writePrivate(file: string, text: string): Promise<void> {
  const draft = `${file}.${String(process.pid)}.new`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
