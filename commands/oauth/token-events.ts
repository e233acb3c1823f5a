/** What the authorization server records of its tokens, in the process's own access stream. */
import { z } from 'zod';
import { type Author, envelope } from '../kernel/decide-and-append.ts';
import type { AccessEntry } from '../ports/ports.ts';
import { defineEvent } from '../values/event.ts';

export const RefreshTokenRotated = defineEvent({
  type: 'RefreshTokenRotated',
  summary:
    'An application got tokens for a connection: the first ones, or others for its last refresh token.',
  data: z.object({
    grant_id: z.string(),
    /** 0 for the first tokens. */
    rotation: z.int().min(0),
  }),
  webhook: null,
});

export const rotationEntry = (
  author: Author,
  now: Date,
  { grantId, rotation }: { readonly grantId: string; readonly rotation: number },
): AccessEntry => ({
  type: RefreshTokenRotated.type,
  data: { grant_id: grantId, rotation },
  metadata: envelope(author, RefreshTokenRotated, now),
});
