/** The event types that an endpoint can subscribe to, by subject, each in a few words (`contract.md` 11). */

/** @type {readonly { label: string, events: readonly (readonly [type: string, about: string])[] }[]} */
export const EVENT_GROUPS = [
  {
    label: 'Messages',
    events: [
      ['message.received', 'A message arrived'],
      ['message.updated', 'Flags or labels changed'],
      ['message.moved', 'A message is in another folder'],
      ['message.deleted', 'A message was deleted permanently'],
      ['message.bounced', 'A message could not be delivered'],
    ],
  },
  {
    label: 'Drafts',
    events: [
      ['draft.created', 'A draft was started'],
      ['draft.updated', 'A draft was edited'],
      ['draft.discarded', 'A draft was discarded'],
      ['draft.sent', 'A draft was sent'],
      ['draft.send_failed', 'Sending failed'],
      ['draft.send_unknown', 'Whether it was sent is not known yet'],
    ],
  },
  {
    label: 'Approvals',
    events: [
      ['approval.requested', 'Someone has to decide'],
      ['approval.vote_cast', 'Someone voted'],
      ['approval.granted', 'The last vote needed was cast'],
      ['approval.rejected', 'It was rejected'],
      ['approval.cancelled', 'It was withdrawn'],
      ['approval.expired', 'The time to decide ran out'],
      ['approval.superseded', 'The draft was edited'],
      ['approval.invalidated', 'Something it depended on changed'],
      ['approval.committed', 'What was approved was done'],
      ['approval.commit_failed', 'It was tried and failed'],
    ],
  },
  { label: 'Operations', events: [['operation.completed', 'An action on messages ended']] },
  {
    label: 'Mailboxes',
    events: [
      ['mailbox.connected', 'A mailbox was connected'],
      ['mailbox.auth_failed', 'The mail server refused the credentials'],
      ['mailbox.connection_failed', 'The mail server cannot be reached'],
      ['mailbox.sync_reset', 'A folder has to be read again'],
    ],
  },
  {
    label: 'Tokens',
    events: [
      ['token.issued', 'A token was created'],
      ['token.revoked', 'A token was revoked'],
    ],
  },
  {
    label: 'Members',
    events: [
      ['member.added', 'Someone joined the organisation'],
      ['member.removed', 'Someone left the organisation'],
    ],
  },
  {
    label: 'Applications',
    events: [
      ['application.connected', 'An application was given access'],
      ['application.disconnected', 'Its access ended'],
    ],
  },
  {
    label: 'Webhooks',
    events: [
      ['webhook_endpoint.disabled', 'The gateway stopped sending to an endpoint'],
      ['webhook_endpoint.secret_rotated', 'An endpoint got a new secret'],
    ],
  },
  { label: 'Policy', events: [['policy.denied', 'The policy refused an action']] },
  { label: 'Audit', events: [['audit.checkpoint_sealed', 'The audit trail was signed up to a line']] },
];

/** Stands for every event type, also future ones, and for every mailbox. */
export const EVERY = '*';
export const TEST_EVENT = 'webhook_endpoint.test';
