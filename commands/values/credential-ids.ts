/** How an event names what a request came with: `tid` is the stable id of a token or of a person's session (`contract.md` 2). */
import type { EventMetadata } from './event.ts';

/** Told apart by the id's prefix. */
export const isSessionId = (tid: string): boolean => tid.startsWith('ses_');

export const credentialIds = (tid: string): Pick<EventMetadata['actor'], 'token_id' | 'session_id'> =>
  isSessionId(tid) ? { token_id: null, session_id: tid } : { token_id: tid, session_id: null };
