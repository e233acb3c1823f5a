/** A grant as callers see it (`contract.md` 3). */
import { z } from 'zod';
import { folderRole } from '../values/event-fields.ts';
import type { HeldGrant } from './mailbox.ts';

export const Grant = z.object({
  id: z.string(),
  mailbox_id: z.string(),
  principal: z.object({ id: z.string(), kind: z.enum(['user', 'agent']) }),
  scopes: z.array(z.string()),
  folder_roles: z.array(folderRole).nullable().describe('Null = every folder.'),
  expires_at: z.string().nullable(),
  quotas: z.record(z.string(), z.number()).nullable().describe('Null = no limit but those of the gateway.'),
  created_at: z.string(),
  created_by: z.string(),
});
export type Grant = z.output<typeof Grant>;

/** The grant as the mailbox's stream holds it. */
export const describeGrant = (mailboxId: string, grant: HeldGrant): Grant => ({
  id: grant.id,
  mailbox_id: mailboxId,
  principal: { id: grant.principalId, kind: grant.principalKind },
  scopes: [...grant.scopes],
  folder_roles: grant.folderRoles && [...grant.folderRoles],
  expires_at: grant.expiresAt,
  quotas: grant.quotas && { ...grant.quotas },
  created_at: grant.createdAt,
  created_by: grant.createdBy,
});
