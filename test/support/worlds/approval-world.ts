/**
 * An organisation with people of every role, an agent, one mailbox and its mail server, written as events on
 * any stores. The mail server and the submission server are counted, and shared by all processes.
 */
import { randomUUID } from 'node:crypto';
import { type Caller, callerInSession } from '../../../commands/kernel/access.ts';
import type { Capability } from '../../../commands/kernel/capability.ts';
import { appendFacts } from '../../../commands/kernel/decide-and-append.ts';
import { notFound } from '../../../commands/values/errors.ts';
import type { Fact } from '../../../commands/values/event.ts';
import { callerBehind } from '../../../commands/kernel/live-caller.ts';
import type { PolicyRule } from '../../../commands/values/policy-document.ts';
import type { Ports } from '../../../commands/ports/ports.ts';
import type { Position } from '../../../commands/values/position.ts';
import { MAILBOX_SCOPES, type MailboxScope, type Role } from '../../../commands/values/scopes.ts';
import { type AnyEvent, eventCatalogue } from '../../../commands/event-catalogue.ts';
import type { OperationReply } from '../../../commands/operations/operation.ts';
import { startDraftCapability } from '../../../commands/drafts/start-draft.ts';
import type { Deciders } from '../models/approval-invariants.ts';
import { happened, sampleAuthor } from '../samples/event-author.ts';
import { FakeSubmission } from '../fakes/fake-submission.ts';
import { SharedMailServer } from '../fakes/shared-mail-server.ts';
import { invokeAs } from './invoke-as.ts';
import { silentEchoes } from './memory-gateway.ts';

export const ORG = 'org_1';
export const MAILBOX = 'mbx_1';
export const AGENT = 'agt_1';
/** Olga owns the agent: its requests are made in her name. */
export const PEOPLE = {
  usr_olga: 'owner',
  usr_adam: 'admin',
  usr_anna: 'approver',
  usr_bert: 'approver',
  usr_mia: 'member',
} as const satisfies Record<string, Role>;
export type PersonId = keyof typeof PEOPLE;
export type CallerId = PersonId | typeof AGENT;

export const DECIDERS: Deciders = { roles: PEOPLE, behindId: 'usr_olga' };
const FOLDERS = ['INBOX', 'Archive', 'Sent', 'Drafts'] as const;
const HOST = { host: 'mail.example', port: 993, security: 'tls' as const };
const FAR = '2100-01-01T00:00:00.000Z';
const NARROW: readonly MailboxScope[] = [
  'messages:read',
  'approvals:request',
  'approvals:commit',
  'approvals:cancel',
];
const TOKEN_SCOPES = [...MAILBOX_SCOPES, 'approvals:read' as const, 'mailboxes:read' as const];

/** The approval that a request has become. */
export interface Asked {
  readonly operationId: string;
  readonly approvalId: string;
  readonly contentHash: string;
}

/** Throws when no approval is required. */
export function askedBy(reply: OperationReply): Asked {
  const { operation_id: operationId, approval } = reply;
  if (operationId === undefined || approval === undefined)
    throw new Error(`nobody was asked: ${JSON.stringify(reply)}`);
  return { operationId, approvalId: approval.id, contentHash: approval.content_hash };
}

export class ApprovalWorld {
  readonly server = new SharedMailServer();
  readonly submission = new FakeSubmission();
  readonly #subjects = new Map<string, string>();
  #policyVersion = 0;
  #grants = 1;

  /** Writes the organisation into the log behind the ports. */
  static async open(ports: Ports): Promise<ApprovalWorld> {
    const world = new ApprovalWorld();
    const seal = (owner: string, text: string) => ports.personal.seal(owner, text);
    const write = (stream: string, facts: readonly Fact<AnyEvent>[]) => world.#write(ports, stream, facts);
    for (const id of [...Object.keys(PEOPLE)]) {
      const data = { email: await seal(id, `${id}@example.com`), name: await seal(id, id) };
      await write(`account-${id}`, [{ type: 'AccountRegistered', data }]);
    }
    await write(`organisation-${ORG}`, [
      { type: 'OrganisationCreated', data: { name: 'Example' } },
      ...Object.entries(PEOPLE).map(([user_id, role]): Fact<AnyEvent> => ({
        type: 'MemberAdded',
        data: { user_id, role },
      })),
    ]);
    await write(`agent-${AGENT}`, [{ type: 'AgentCreated', data: { owner_id: 'usr_olga', name: 'Bot' } }]);
    await write('token-tok_1', [
      {
        type: 'TokenIssued',
        data: {
          principal_id: AGENT,
          principal_kind: 'agent',
          name: 'bot',
          surface: 'rest',
          scopes: TOKEN_SCOPES,
          mailbox_ids: null,
          expires_at: FAR,
          secret_hash: { clear: 'hash' },
        },
      },
    ]);
    await world.#addMailbox(ports);
    return world;
  }

  /** The same ports with the one mail server that all processes use. */
  reachedFrom(ports: Ports): Ports {
    return {
      ...ports,
      mail: this.server.portFor(ports.mail, () => {
        if (ports.directory.state.mailboxes.get(MAILBOX)?.state === 'removed') throw notFound('mailbox');
      }),
      submission: this.submission,
      changeAttribution: silentEchoes,
    };
  }

  /** A caller as the process behind the ports knows it; people are signed in with a recent step-up. */
  caller(ports: Ports, id: CallerId): Caller {
    const { state } = ports.directory;
    const now = ports.clock.now();
    if (id === AGENT) {
      const token = state.tokens.get('tok_1');
      if (!token) throw new Error('no token');
      return callerBehind(state, token, now);
    }
    const session = {
      id: `ses_${id}`,
      orgId: ORG,
      userId: id,
      secretHash: '',
      startedAt: now.toISOString(),
      position: '9'.repeat(19),
      expiresAt: FAR,
      steppedUpUntil: FAR,
      endedAt: null,
      client: null,
    };
    const caller = callerInSession(state, session, now);
    if (!caller) throw new Error(`${id} is nobody`);
    return caller;
  }

  /** Invokes any capability; with a fresh key by default. */
  async invoke<Output = OperationReply>(
    ports: Ports,
    by: CallerId,
    call: readonly [capability: Capability, input: object],
    key: string | null = randomUUID(),
  ): Promise<Output> {
    const { output } = await invokeAs(ports, this.caller(ports, by), call, { idempotencyKey: key });
    return output as Output;
  }

  /** A message that arrives, with a Message-ID or without one. */
  arrive(ports: Ports, isNamed = true): { readonly id: string; readonly uid: number } {
    const uid = this.server.mailbox.add('INBOX', isNamed ? `<${randomUUID()}@example.org>` : null);
    const { uidValidity } = this.server.mailbox.folder('INBOX');
    return { id: ports.locators.message({ mailboxNumber: 1, folderNumber: 1, uidValidity, uid }), uid };
  }

  async startDraft(ports: Ports, by: CallerId = AGENT): Promise<string> {
    const subject = randomUUID();
    const input = { mailbox_id: MAILBOX, to: ['bob@example.org'], subject, text: 'Hello.' };
    const { id } = await this.invoke<{ id: string }>(ports, by, [startDraftCapability, input]);
    this.#subjects.set(id, subject);
    return id;
  }

  /** How often the submission server accepted a message of this draft. */
  sentOf(draftId: string): number {
    const subject = this.#subjects.get(draftId);
    if (subject === undefined) throw new Error(`${draftId} is no draft of this world`);
    return this.submission.taken.filter(({ raw }) => raw.includes(subject)).length;
  }

  /** A request of the agent that becomes an approval. */
  async ask(ports: Ports, call: readonly [capability: Capability, input: object]): Promise<Asked> {
    return askedBy(await this.invoke(ports, AGENT, call));
  }

  /** Sets the policy to these rules, in force for this process when this resolves; returns its position. */
  async setPolicy(ports: Ports, rules: readonly PolicyRule[]): Promise<Position> {
    this.#policyVersion += 1;
    const said = { internal_domains: [], custom_headers: [], default: null };
    const data = { ...said, version: this.#policyVersion, rules: [...rules] };
    return await this.#write(ports, `policy-${ORG}`, [{ type: 'PolicySet', data }]);
  }

  /** Changes the agent's grant in the mailbox; returns the position that every process must reach. */
  async grant(ports: Ports, what: 'whole' | 'narrow' | 'none'): Promise<Position | null> {
    const held = ports.directory.state.grantIds.get(MAILBOX)?.get(AGENT);
    const facts: Fact<AnyEvent>[] = [];
    if (held !== undefined) facts.push({ type: 'GrantRevoked', data: { grant_id: held } });
    if (what !== 'none') {
      this.#grants += 1;
      const scopes = what === 'whole' ? MAILBOX_SCOPES : NARROW;
      facts.push(grantTo(AGENT, `grt_${String(this.#grants)}`, scopes));
    }
    return facts.length === 0 ? null : await this.#write(ports, `mailbox-${MAILBOX}`, facts);
  }

  async removeMailbox(ports: Ports): Promise<void> {
    await this.#write(ports, `mailbox-${MAILBOX}`, [{ type: 'MailboxRemoved', data: { erase_at: FAR } }]);
  }

  async #addMailbox(ports: Ports): Promise<void> {
    const seal = (text: string) => ports.personal.seal(MAILBOX, text);
    const folders = await Promise.all(
      FOLDERS.map(async (path, index): Promise<Fact<AnyEvent>> => ({
        type: 'FolderAdded',
        data: { number: index + 1, path: await seal(path), path_key: path },
      })),
    );
    await happened(ports.events, 'mailboxNumber-1', [
      { type: 'MailboxNumberReserved', data: { mailbox_id: MAILBOX } },
    ]);
    await this.#write(ports, `mailbox-${MAILBOX}`, [
      {
        type: 'MailboxAdded',
        data: {
          number: 1,
          email: await seal('box@example.com'),
          display_name: null,
          provider: 'imap',
          auth_type: 'password',
          imap: HOST,
          smtp: { ...HOST, port: 465 },
        },
      },
      ...(Object.keys(PEOPLE) as PersonId[]).map((id) => grantTo(id, `grt_${id}`)),
      grantTo(AGENT, 'grt_1'),
      { type: 'MailboxCredentialsStored', data: {} },
      { type: 'MailboxConnectionStarted', data: {} },
      ...folders,
      { type: 'FolderRolesDetected', data: { roles: { inbox: 1, archive: 2, sent: 3, drafts: 4 } } },
      { type: 'MailboxConnected', data: { capabilities: ['MOVE', 'UIDPLUS'] } },
    ]);
  }

  async #write(ports: Ports, stream: string, facts: readonly Fact<AnyEvent>[]): Promise<Position> {
    const author = sampleAuthor(stream.startsWith('account-') ? null : ORG);
    const last = await ports.events.readLast(stream);
    const { position } = await appendFacts(ports, author, {
      stream,
      expected: last?.revision ?? 'no-stream',
      catalogue: eventCatalogue,
      facts,
    });
    await ports.directory.waitFor(position);
    return position;
  }
}

const grantTo = (
  principalId: CallerId,
  grantId: string,
  scopes: readonly MailboxScope[] = MAILBOX_SCOPES,
): Fact<AnyEvent> => ({
  type: 'GrantGiven',
  data: {
    grant_id: grantId,
    principal_id: principalId,
    principal_kind: principalId === AGENT ? 'agent' : 'user',
    scopes: [...scopes],
    folder_roles: null,
    expires_at: null,
    quotas: null,
  },
});
