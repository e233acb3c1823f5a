/**
 * B3: `email.act` with one message, archived or flagged, beside raw IMAP; and a draft that is sent, beside raw
 * SMTP.
 */
import { once } from 'node:events';
import type { ImapFlow } from 'imapflow';
import { createTransport } from 'nodemailer';
import { type Cpu, countOf, measureBesideRaw, type Operation } from './beside-raw.ts';
import { type Figure, median, took } from './figures.ts';
import { type MailSite, type Messages, withMessages } from './mail-site.ts';
import { post } from './rest.ts';

const RECIPIENT = 'bob@example.com';
const CPU_AT_MOST = 9;

/** Everything that one measurement of operations needs. */
export interface OperationsJob {
  readonly site: MailSite;
  readonly gatewayPid: number;
  readonly idle: Cpu;
  /** Operations back to back. */
  readonly rounds: number;
}

export async function measureActions(job: OperationsJob): Promise<readonly Figure[]> {
  return [...(await archive(job)), ...(await flag(job)), ...(await send(job))];
}

type Action = Readonly<Record<string, unknown>>;

/** One action on one message of its own. */
async function act({ facts }: MailSite, id: string, action: Action): Promise<void> {
  const operation = { type: 'message_actions', select: { message_ids: [id] }, actions: [action] };
  const path = `mailboxes/${facts.mailbox_id}/email.act`;
  const answer = await post(facts, path, { operation }, { key: `bench-${id}` });
  const { summary } = answer as { summary: { done: number } };
  if (summary.done !== 1) throw new Error(`the action did not happen: ${JSON.stringify(answer)}`);
}

type Described = Pick<Operation, 'name' | 'anchor' | 'added' | 'peer'>;
type RawAction = (raw: ImapFlow, uid: string) => Promise<unknown>;

/** An action, and what the raw client does instead. */
async function measureAction(
  job: OperationsJob,
  { word, ...described }: Described & { readonly word: string },
  action: Action,
  rawAction: RawAction,
): Promise<readonly Figure[]> {
  const { site, gatewayPid, idle, rounds } = job;
  return await withMessages(site, { word, count: countOf(rounds) }, ({ ids, uids, raw }: Messages) => {
    const operation: Operation = {
      ...described,
      cpuAtMost: CPU_AT_MOST,
      ours: (index) => took(() => act(site, ids[index] ?? '', action)),
      theirs: (index) => took(() => rawAction(raw, String(uids[index]))),
    };
    return measureBesideRaw(gatewayPid, idle, operation, rounds);
  });
}

const ADDED = { 'back to back': 5, 'one every 300 ms': 8 };

const archive = (job: OperationsJob): Promise<readonly Figure[]> =>
  measureAction(
    job,
    { name: 'B3 archive', anchor: 'IMAP MOVE', added: ADDED, peer: 'archive', word: 'Archived' },
    { type: 'archive' },
    (raw, uid) => raw.messageMove(uid, 'Archive', { uid: true }),
  );

const flag = (job: OperationsJob): Promise<readonly Figure[]> =>
  measureAction(
    job,
    { name: 'B3 flag', anchor: 'IMAP STORE', added: ADDED, peer: 'flag', word: 'Flagged' },
    { type: 'set_flags', seen: true },
    (raw, uid) => raw.messageFlagsAdd(uid, ['\\Seen'], { uid: true }),
  );

/** Until the submission server has the whole mail; until the call is answered is a row of its own. */
async function send({ site, gatewayPid, idle, rounds }: OperationsJob): Promise<readonly Figure[]> {
  const { raw, sink } = site;
  const drafts = await startDrafts(site, countOf(rounds));
  const submission = createTransport({
    host: '127.0.0.1',
    port: sink.port,
    secure: false,
    ignoreTLS: true,
    auth: { user: raw.user, pass: raw.password },
  });
  const answered: number[] = [];
  const untilAccepted = async (work: () => Promise<unknown>, into: number[]): Promise<number> => {
    const accepted = took(() => once(sink.child, 'message'));
    into.push(await took(work));
    return await accepted;
  };
  const operation: Operation = {
    name: 'B3 send',
    anchor: 'SMTP',
    added: { 'back to back': 12, 'one every 300 ms': 12 },
    cpuAtMost: CPU_AT_MOST,
    peer: 'send, the server has it',
    ours: (index) => untilAccepted(() => sendDraft(site, drafts[index] ?? ''), answered),
    theirs: (index) =>
      untilAccepted(() => submission.sendMail({ from: raw.user, to: RECIPIENT, ...contentOf(index) }), []),
  };
  const figures = await measureBesideRaw(gatewayPid, idle, operation, rounds);
  const peer = { operation: 'send, answered', what: 'p50' } as const;
  return [
    ...figures,
    { name: 'B3 send, both paces: answered p50', value: median(answered), unit: 'ms', peer },
  ];
}

async function startDrafts({ facts }: MailSite, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const body = { to: [RECIPIENT], ...contentOf(index) };
    const key = `draft-${String(index)}`;
    const draft = await post(facts, `mailboxes/${facts.mailbox_id}/start_draft`, body, { key });
    ids.push((draft as { id: string }).id);
  }
  return ids;
}

const contentOf = (index: number) => ({ subject: `Sent ${String(index)}`, text: 'One of many.' });

async function sendDraft({ facts }: MailSite, id: string): Promise<void> {
  const answer = await post(facts, `drafts/${id}/send_draft`, {}, { key: `send-${id}` });
  const { status } = answer as { status: string };
  if (status !== 'completed') throw new Error(`the draft was not sent: ${JSON.stringify(answer)}`);
}
