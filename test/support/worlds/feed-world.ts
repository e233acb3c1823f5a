/** A mailbox in memory whose feed is written by a test, and processes that follow it. */
import type { MailPort, MailSession } from '../../../commands/ports/mail-port.ts';
import type { FetchedMessage } from '../../../commands/mail/message.ts';
import { type FeedChange, feedStream } from '../../../commands/feed/feed-events.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import type { Clock, Ports } from '../../../commands/ports/ports.ts';
import type { Position } from '../../../commands/values/position.ts';
import { createMailbox } from '../../../commands/mailboxes/manage-mailboxes.ts';
import type { Mailbox } from '../../../commands/mailboxes/mailbox-payload.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import { FeedFollower } from '../../../infra/waiting/feed-follower.ts';
import type { Message } from '../../../read-api/messages/message-view.ts';
import type { AwaitReply } from '../../../read-api/waiting/await-reply.ts';
import { connectAndSync } from './connect.ts';
import { happened, sampleAuthor } from '../samples/event-author.ts';
import { IMAP, SMTP } from '../samples/mailbox-facts.ts';
import { type MemoryGateway, startMemoryGateway } from './memory-gateway.ts';
import { invokeAs } from './invoke-as.ts';

/** INBOX of the fake mail port. */
export const INBOX = { number: 1, uidValidity: 11 };
export const TRASH = { number: 2, uidValidity: 12 };

export type Change = Partial<FeedChange> & { readonly uid: number };

/** A message with arbitrary content. */
export const messageAt = (uid: number, change: Partial<FetchedMessage> = {}): FetchedMessage => ({
  ref: { folder: { number: INBOX.number, path: 'INBOX' }, uidValidity: INBOX.uidValidity, uid },
  seen: false,
  flagged: false,
  answered: false,
  draft: false,
  keywords: [],
  size: 100,
  receivedAt: new Date('2026-03-01T12:00:00.000Z'),
  sentAt: null,
  messageId: `<${String(uid)}@example.com>`,
  inReplyTo: null,
  references: [],
  subject: `Message ${String(uid)}`,
  from: [{ name: null, email: 'bob@example.org' }],
  to: [],
  cc: [],
  bcc: [],
  replyTo: [],
  autoSubmitted: null,
  hasAttachments: false,
  attachments: [],
  threadRoot: `<${String(uid)}@example.com>`,
  ...change,
});

/** The machine's clock, set to another hour. */
function tickingFrom(start: Date): Clock {
  const ahead = start.getTime() - Date.now();
  return { ...systemClock, now: () => new Date(Date.now() + ahead) };
}

export class FeedWorld {
  readonly gateway: MemoryGateway;
  readonly mailboxId: string;
  readonly #followers: FeedFollower[] = [];
  /** The messages in INBOX on the mail server, by UID. */
  readonly messages = new Map<number, FetchedMessage>();
  /** The number of messages of each fetch. */
  readonly fetches: number[] = [];

  private constructor(gateway: MemoryGateway, mailboxId: string) {
    this.gateway = gateway;
    this.mailboxId = mailboxId;
  }

  static async start(): Promise<FeedWorld> {
    const gateway = await startMemoryGateway();
    const auth = { type: 'password', username: 'box', password: 'secret' };
    const wanted = { email: 'box@example.com', imap: IMAP, smtp: SMTP, auth };
    const { id } = await gateway.call<Mailbox>(createMailbox, wanted);
    await connectAndSync(gateway.ports, id);
    return new FeedWorld(gateway, id);
  }

  /** One more process on the same log; its time passes automatically when `ticking`. */
  async process(options: { recentChanges?: number; ticking?: boolean } = {}): Promise<Ports> {
    const { recentChanges = 10_000, ticking = false } = options;
    const { locators, log } = this.gateway.ports;
    const clock = ticking ? tickingFrom(this.gateway.clock.now()) : this.gateway.clock;
    const feed = new FeedFollower({ events: this.gateway.events, clock, locators, log, recentChanges });
    this.#followers.push(feed);
    await feed.start();
    return { ...this.gateway.ports, clock, feed, mail: this.#mail() };
  }

  /** Writes changes to the feed, as the worker of the mailbox does. */
  async observe(changes: readonly Change[], folder = INBOX, at?: Date): Promise<Position> {
    const { clock, directory, events } = this.gateway.ports;
    const mailboxNumber = directory.state.mailboxes.get(this.mailboxId)?.number ?? 0;
    const told = changes.map(({ uid, ...change }) => ({
      kind: 'received' as const,
      flags: [],
      ...change,
      locator: this.gateway.ports.locators.message({
        mailboxNumber,
        folderNumber: folder.number,
        uidValidity: folder.uidValidity,
        uid,
      }),
    }));
    const data = {
      mailbox_id: this.mailboxId,
      folder: folder.number,
      uid_validity: folder.uidValidity,
      changes: told,
    };
    const stream = feedStream(this.mailboxId, at ?? clock.now());
    const { position } = await happened(
      events,
      stream,
      [{ type: 'MailboxChangesObserved', data }],
      sampleAuthor(this.gateway.org.orgId),
    );
    return position;
  }

  /** A call as the owner in one of the processes. */
  async wait<Item = Message>(
    ports: Ports,
    capability: Capability,
    input: object,
    more: { readonly tokenId?: string; readonly gone?: AbortSignal } = {},
  ): Promise<AwaitReply<Item>> {
    const isOfMailbox = capability.rest?.path.includes(':mailbox_id') ?? true;
    const { output } = await invokeAs(
      ports,
      this.gateway.callerOf(more.tokenId ?? this.gateway.ownerTokenId),
      [capability, isOfMailbox ? { mailbox_id: this.mailboxId, ...input } : input],
      more.gone ? { gone: more.gone } : {},
    );
    return output as AwaitReply<Item>;
  }

  /** Resolves when a process has applied everything. */
  async caughtUp({ feed, events }: Ports): Promise<void> {
    const head = (await events.readAll(null, 100_000)).findLast(({ streamName }) =>
      /^(mailFeed|operation)-/.test(streamName),
    );
    while (head && feed.reached < head.position) await new Promise(setImmediate);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#followers.map((follower) => follower.close()));
  }

  #mail(): MailPort {
    const session: Partial<MailSession> = {
      fetch: (refs) => {
        this.fetches.push(refs.length);
        return Promise.resolve(refs.map(({ uid }) => this.messages.get(uid) ?? null));
      },
    };
    const withMailbox: MailPort['withMailbox'] = (_, __, work) => work(session as MailSession);
    const withThreadIds: MailPort['withThreadIds'] = (_, filter) => Promise.resolve(filter);
    return { withMailbox, withThreadIds } as unknown as MailPort;
  }
}
