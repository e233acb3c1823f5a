/** Every REST read of a mailbox's folders, in the form of a call. */
export const readsOfMailbox = (
  id: string,
): readonly (readonly [method: string, path: string, body?: object])[] => [
  ['GET', `/mailboxes/${id}/messages`],
  ['GET', `/mailboxes/${id}/messages?folder=all`],
  ['POST', `/mailboxes/${id}/email.query`, { select: {} }],
  ['POST', `/mailboxes/${id}/email.query`, { select: { folder: 'all' }, view: 'count' }],
  ['POST', `/mailboxes/${id}/email.query`, { select: { folder: 'inbox' }, view: 'threads' }],
  ['POST', `/mailboxes/${id}/email.query`, { select: { filter: { body_contains: 'x' } } }],
  ['POST', `/mailboxes/${id}/monitor_inbox`, { timeout_seconds: 0 }],
  ['POST', `/mailboxes/${id}/email.await`, { for: 'message', timeout_seconds: 0 }],
  ['GET', `/mailboxes/${id}/folders/list`],
];
