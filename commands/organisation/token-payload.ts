/** A token as callers see it (`contract.md` 2); its secret is told once, when it is made. */
import { z } from 'zod';
import type { TokenEntry } from '../ports/directory.ts';

export const Token = z.object({
  id: z.string(),
  name: z.string(),
  principal: z.object({ id: z.string(), kind: z.enum(['user', 'agent']) }),
  scopes: z.array(z.string()),
  mailbox_ids: z.array(z.string()).nullable().describe('Null = every mailbox its principal has a grant on.'),
  surface: z.enum(['rest', 'mcp']),
  expires_at: z.string(),
  last_used_at: z.string().nullable().optional().describe('To the minute; null = never.'),
  created_by: z.string(),
  created_at: z.string(),
  status: z.enum(['active', 'expired', 'revoked']),
});
export type Token = z.output<typeof Token>;

/** The token as the directory knows it, at `now`. */
export const describeToken = (entry: TokenEntry, now: Date): Token => ({
  id: entry.id,
  name: entry.name,
  principal: { id: entry.principalId, kind: entry.principalKind },
  scopes: [...entry.scopes],
  mailbox_ids: entry.mailboxIds && [...entry.mailboxIds],
  surface: entry.surface,
  expires_at: entry.expiresAt,
  created_by: entry.createdBy,
  created_at: entry.createdAt,
  status:
    entry.revokedAt !== null
      ? 'revoked'
      : Date.parse(entry.expiresAt) <= now.getTime()
        ? 'expired'
        : 'active',
});
