/** One mailbox, its drafts and its submission server in memory: everything a send uses. */
import { type Caller, callerOf } from '../../../commands/kernel/access.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { decideAndAppend, loadAggregate } from '../../../commands/kernel/decide-and-append.ts';
import type { Directory, MailboxEntry, PolicyEntry } from '../../../commands/ports/directory.ts';
import type { Outcome } from '../../../commands/kernel/invoke-capability.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import { openText, type SealedOr } from '../../../commands/kernel/sealed-json.ts';
import { MAILBOX_SCOPES, SCOPES } from '../../../commands/values/scopes.ts';
import { draft, type DraftFact, type DraftState } from '../../../commands/drafts/draft.ts';
import { storeBody } from '../../../commands/drafts/draft-body.ts';
import { DraftFrozen, type DraftVersion } from '../../../commands/drafts/draft-events.ts';
import { sealEnvelope } from '../../../commands/drafts/draft-envelope.ts';
import { sendDraftCapability } from '../../../commands/sending/send-draft.ts';
import {
  operation,
  type OperationReply,
  type OperationState,
} from '../../../commands/operations/operation.ts';
import { messageComposer } from '../../../infra/mail/compose-message.ts';
import { stateOf, tokenOf, type World } from './access-world.ts';
import { sampleAuthor } from '../samples/event-author.ts';
import { FakeMailbox } from '../fakes/fake-mailbox.ts';
import { FakeSubmission } from '../fakes/fake-submission.ts';
import { memoryLeases, memoryPorts, silentEchoes } from './memory-gateway.ts';
import { MemoryContentStore } from '../fakes/memory-content-store.ts';
import { shortSleep } from '../fakes/short-sleep.ts';
import { policyEntry } from '../samples/policy-entry.ts';
import { invokeAs } from './invoke-as.ts';

const ALLOW_ALL = policyEntry([{ id: 'all', when: {}, then: { decision: 'allow' } }], {
  custom_headers: ['x-ticket'],
});
const MAILBOX = 'mbx_0';

export interface SendRigOptions {
  readonly kind?: World['kind'];
  readonly policy?: PolicyEntry | null;
  readonly mailbox?: Partial<MailboxEntry>;
}

export interface FrozenAs {
  readonly operationId: string;
  readonly messageId: string;
}

/** A directory that does not become current in time. */
export const OUTDATED = { isCurrent: false, untilCurrent: () => Promise.resolve(false) };

/** An outdated directory that becomes current while it is waited for. */
export function becomingCurrent(directory: Directory): Directory {
  const late = {
    ...directory,
    isCurrent: false,
    untilCurrent: () => {
      late.isCurrent = true;
      return Promise.resolve(true);
    },
  };
  return late;
}

export class SendRig {
  readonly parts = memoryPorts();
  readonly submission = new FakeSubmission();
  readonly mailbox = new FakeMailbox();
  readonly content = new MemoryContentStore();
  readonly leaseTable = new Map<string, string>();
  readonly caller: Caller;
  readonly ports: Ports;
  #requests = 0;
  #runs = 1;

  constructor({ kind = 'user', policy = ALLOW_ALL, mailbox = {} }: SendRigOptions = {}) {
    const access = { scopes: MAILBOX_SCOPES, folderRoles: null, expiresAt: null };
    const world: World = {
      kind,
      role: 'member',
      tokenScopes: SCOPES,
      tokenMailboxIds: null,
      mailboxes: [0, 1].map(() => ({
        isRemoved: false,
        isForeign: false,
        grant: access,
        ownersGrant: access,
      })),
    };
    const bare = stateOf(world);
    const mailboxes = new Map(
      [...bare.mailboxes].map(([id, entry]): [string, MailboxEntry] => [
        id,
        {
          ...entry,
          email: 'anna@example.com',
          smtp: { host: 'smtp.example.com', port: 587, security: 'starttls' },
          folders: ['INBOX', 'Sent'].map((path, at) => ({ number: at + 1, path })),
          detectedRoles: { inbox: 1, sent: 2 },
          ...mailbox,
        },
      ]),
    );
    const policies = new Map<string, PolicyEntry>(policy === null ? [] : [['org_1', policy]]);
    const state = { ...bare, mailboxes, policies };
    const caller = callerOf(state, tokenOf(world), this.parts.clock.now());
    if (!caller) throw new Error('no caller');
    this.caller = caller;
    const { clock } = this.parts;
    this.ports = {
      ...this.parts.ports,
      leases: memoryLeases('run_1', this.leaseTable),
      directory: {
        state,
        version: 1,
        isCurrent: true,
        untilCurrent: () => Promise.resolve(true),
        waitFor: () => Promise.resolve(),
        waitForAll: () => Promise.resolve(),
      },
      submission: this.submission,
      content: this.content,
      composer: messageComposer,
      changeAttribution: silentEchoes,
      // No step here takes long enough to be answered late; only the test moves the time.
      clock: {
        now: () => clock.now(),
        elapsedMs: () => clock.elapsedMs(),
        sleep: shortSleep,
      },
    };
    this.parts.mail.withMailbox = (_, __, work) =>
      this.parts.mail.failure ? Promise.reject(this.parts.mail.failure) : work(this.mailbox);
  }

  /** The ports of another process on the same stores; the leases of the first process have ended. */
  newRun(): Ports {
    this.#runs += 1;
    this.leaseTable.clear();
    return { ...this.ports, leases: memoryLeases(`run_${String(this.#runs)}`, this.leaseTable) };
  }

  /** A draft of one version, ready to be sent. */
  async startDraft(
    to: readonly string[] = ['bob@example.org'],
    replyTo: readonly string[] = [],
  ): Promise<string> {
    const id = this.ports.ids.newId('drf');
    await this.append(id, {
      type: 'DraftStarted',
      data: {
        mailbox_id: MAILBOX,
        kind: 'new',
        source_message_id: null,
        threading: null,
        draft: await this.version(id, 1, to, replyTo),
      },
    });
    return id;
  }

  async edit(id: string): Promise<void> {
    const { current } = await this.draft(id);
    const draft = await this.version(id, (current?.version ?? 0) + 1, ['carol@example.org']);
    await this.append(id, { type: 'DraftEdited', data: { draft } });
  }

  async append(id: string, fact: DraftFact): Promise<void> {
    await decideAndAppend(this.ports, sampleAuthor('org_1'), draft, { id, decide: () => [fact] });
  }

  async version(
    draftId: string,
    version: number,
    to: readonly string[],
    replyTo: readonly string[] = [],
  ): Promise<DraftVersion> {
    const { personal, content, ids } = this.ports;
    const owner = { mailboxId: MAILBOX, draftId };
    return {
      version,
      envelope: await sealEnvelope(personal, MAILBOX, {
        from: null,
        to: to.map((email) => ({ name: null, email })),
        cc: [],
        bcc: [],
        reply_to: replyTo.map((email) => ({ name: null, email })),
        subject: `Version ${String(version)}`,
        headers: {},
        attachments: [],
      }),
      content_id: await storeBody(content, ids.newUuid(), owner, {
        text: 'Hello',
        html: null,
        markdown: null,
      }),
      content_hash: `hash-${draftId}-${String(version)}`,
      attachments: [],
    };
  }

  /** Names of the stored frozen messages. */
  frozenIds(): readonly string[] {
    return this.content.stored.filter(({ kind }) => kind === 'mime').map(({ id }) => id);
  }

  /** Erases content that is no longer kept, after the longest expiry. */
  async sweep(): Promise<void> {
    await this.content.eraseExpired(new Date(this.parts.clock.now().getTime() + 48 * 3_600_000));
  }

  async draft(id: string): Promise<DraftState> {
    return (await loadAggregate(this.ports.events, draft, id)).state;
  }

  /** The Message-ID a draft is frozen with. */
  async messageId(draftId: string): Promise<string> {
    const { send } = await this.draft(draftId);
    if (send === null) throw new Error(`${draftId} is not frozen`);
    return await this.#opened(send.frozen.rfc_message_id);
  }

  /** Every frozen message of a draft: its operation and its Message-ID. */
  async frozenMessages(draftId: string): Promise<readonly FrozenAs[]> {
    const stored = await this.ports.events.readStream(`draft-${draftId}`);
    const facts = stored
      .filter(({ type }) => type === DraftFrozen.type)
      .map(({ data }) => DraftFrozen.data.parse(data));
    return await Promise.all(
      facts.map(async ({ operation_id: operationId, rfc_message_id: held }) => ({
        operationId,
        messageId: await this.#opened(held),
      })),
    );
  }

  async #opened(held: SealedOr<string>): Promise<string> {
    const text = await openText(this.ports.personal, held);
    if (text === null) throw new Error('a Message-ID cannot be opened');
    return text;
  }

  async operation(id: string): Promise<OperationState> {
    return (await loadAggregate(this.ports.events, operation, id)).state;
  }

  operationId(key: string): string {
    return this.ports.ids.idForKey('opn', this.caller.org.id, this.caller.principal.id, key);
  }

  /** send_draft as the caller, in this process or another one. */
  async send(
    draftId: string,
    key: string,
    { ports, expectedVersion }: { readonly ports?: Ports; readonly expectedVersion?: number } = {},
  ): Promise<OperationReply> {
    const input = {
      draft_id: draftId,
      ...(expectedVersion === undefined ? {} : { expected_version: expectedVersion }),
    };
    return (await this.invoke(sendDraftCapability, input, key, ports)).output as OperationReply;
  }

  /** Any capability as the caller, in this process or another one. */
  async invoke(
    capability: Capability,
    input: object,
    key: string | null,
    ports: Ports = this.ports,
  ): Promise<Outcome> {
    this.#requests += 1;
    const request = { id: `req_${String(this.#requests)}`, idempotencyKey: key };
    return await invokeAs(ports, this.caller, [capability, input], request);
  }

  /** Types of the events of a stream, in order. */
  async typesOf(stream: string): Promise<readonly string[]> {
    return (await this.ports.events.readStream(stream)).map(({ type }) => type);
  }
}
