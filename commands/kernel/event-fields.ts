/** Pieces of event data that several aggregates share. */
import { z } from 'zod';
import { FOLDER_ROLES } from './mail-port.ts';
import type { Sealed } from './ports.ts';
import { MAILBOX_SCOPES, SCOPES } from './scopes.ts';

/** A text readable only while its owner's key exists. */
export const sealedText = z.string() as unknown as z.ZodType<Sealed, Sealed>;
export const principalKind = z.enum(['user', 'agent']);
export const scopeList = z.array(z.enum(SCOPES));
export const mailboxScopeList = z.array(z.enum(MAILBOX_SCOPES));
export const folderRole = z.enum(FOLDER_ROLES);
export const instant = z.iso.datetime();
export const hostSettings = z.object({
  host: z.string(),
  port: z.int(),
  security: z.enum(['tls', 'starttls', 'none']),
});
