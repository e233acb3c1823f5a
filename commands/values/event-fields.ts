/** Fields of event data that several aggregates share. */
import { z } from 'zod';
import type { Upcaster } from './event.ts';
import { FOLDER_ROLES } from './folder-roles.ts';
import type { Sealed } from './sealed.ts';
import { MAILBOX_SCOPES, SCOPES } from './scopes.ts';

/** A text readable only while its owner's key exists. */
export const sealedText = z.string() as unknown as z.ZodType<Sealed, Sealed>;
/**
 * A sealed text, or its plain form in older events: their upcasters wrap that in an object, so that no text
 * of a caller is ever taken for sealed.
 */
export const sealedOr = <Clear extends z.ZodType>(
  clear: Clear,
): z.ZodUnion<readonly [typeof sealedText, z.ZodObject<{ clear: Clear }>]> =>
  z.union([sealedText, z.object({ clear })]);
/**
 * The verifier of a secret, sealed under the key of the principal it authenticates; never shown to readers of
 * the trail.
 */
export const sealedVerifier = sealedOr(z.string());
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

/** A verifier in version 1 of an event. */
export const verifierInClear: Upcaster = ({ secret_hash: clear, ...data }) => ({
  ...data,
  secret_hash: clear === null ? null : { clear },
});
