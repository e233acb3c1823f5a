/** Applications as callers see them: those an organisation registered or approved, and those that people connected. */
import { z } from 'zod';
import type { AskingClient } from '../ports/authorization-server.ts';
import {
  type DirectoryState,
  OAUTH_CLIENT_KINDS,
  type OAuthClientEntry,
  type OAuthGrantEntry,
} from '../ports/directory.ts';
import { isLoopbackHost } from './redirect-uri.ts';

export const OAuthClient = z.object({
  id: z.string(),
  client_id: z.string().describe('What the application sends; for a registered one the same as `id`.'),
  kind: z.enum(['registered', 'approved']),
  name: z.string(),
  redirect_uris: z.array(z.string()).describe('Of a registered one; an approved one has its own.'),
  scopes: z
    .array(z.string())
    .nullable()
    .describe('The most that a person may allow it; null = everything that an application may hold.'),
  is_confidential: z.boolean().describe('Whether it has a secret.'),
  created_at: z.string(),
  created_by: z.string(),
  version: z.number().describe('Its ETag: increases with each change.'),
});
export type OAuthClient = z.output<typeof OAuthClient>;

export const describeOAuthClient = (entry: OAuthClientEntry): OAuthClient => ({
  id: entry.id,
  client_id: entry.clientId,
  kind: entry.isRegistered ? 'registered' : 'approved',
  name: entry.name,
  redirect_uris: [...entry.redirectUris],
  scopes: entry.scopes && [...entry.scopes],
  is_confidential: entry.secretHash !== null,
  created_at: entry.createdAt,
  created_by: entry.createdBy,
  version: entry.version,
});

/** An application and what can be verified of it: the host of its metadata, and where its answers go. */
export const Application = z.object({
  id: z.string(),
  kind: z
    .enum(OAUTH_CLIENT_KINDS)
    .describe(
      '`registered` by the organisation; `document`: its id is the address of its metadata; `dynamic`: it registered itself.',
    ),
  name: z
    .string()
    .nullable()
    .describe('The name it gives itself. It is not verified, unless the organisation registered it.'),
  host: z.string().nullable().describe('The host of its metadata, which it controls; null without.'),
  redirect_host: z.string().describe('The host to which the browser returns with the permission.'),
  only_loopback: z
    .boolean()
    .describe('It returns to a program on the computer of the browser, which any program can claim to be.'),
});
export type Application = z.output<typeof Application>;

/** Hosts in ASCII: a letter that looks like another one shows as `xn--`. */
const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

export function describeApplication({ id, kind, name, redirectUri }: AskingClient): Application {
  const redirect = urlOf(redirectUri);
  return {
    id,
    kind,
    name,
    host: kind === 'document' ? (urlOf(id)?.host ?? null) : null,
    redirect_host: redirect?.host ?? '',
    only_loopback: isLoopbackHost(redirect?.hostname ?? ''),
  };
}

export const ConnectedApplication = z.object({
  id: z.string(),
  application: Application,
  user: z.object({ id: z.string(), name: z.string() }).describe('The person in whose name it acts.'),
  scopes: z.array(z.string()),
  mailbox_ids: z
    .array(z.string())
    .nullable()
    .describe('Null = every mailbox that the person has a grant on, also later ones.'),
  connected_at: z.string(),
  expires_at: z.string(),
  last_used_at: z.string().nullable().describe('To the minute; null = never.'),
});
export type ConnectedApplication = z.output<typeof ConnectedApplication>;

export const describeConnection = (
  state: DirectoryState,
  entry: OAuthGrantEntry,
  lastUsedAt: Date | null,
): ConnectedApplication => ({
  id: entry.id,
  application: describeApplication({
    id: entry.clientId,
    kind: entry.clientKind,
    name: entry.name === '' ? null : entry.name,
    redirectUri: entry.redirectUri,
  }),
  user: { id: entry.principalId, name: state.people.get(entry.principalId)?.name ?? '' },
  scopes: [...entry.scopes],
  mailbox_ids: entry.mailboxIds && [...entry.mailboxIds],
  connected_at: entry.createdAt,
  expires_at: entry.expiresAt,
  last_used_at: lastUsedAt?.toISOString() ?? null,
});
