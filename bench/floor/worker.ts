/**
 * Does the steps of a request one after another, and nothing else: a bare HTTP server, the official client of an event node in
 * this process, one IMAP connection with INBOX open, one SMTP connection a send. Sends its port to its parent.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { type AppendExpectedRevision, EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { createJsonLog } from '../../infra/observability/json-log.ts';
import { openPool, postgresSql } from '../../infra/postgres/pool.ts';
import { startBenchNode } from '../b4/start-node.ts';
import { fetchText, type MailAccount, message, openRaw } from '../mail-site.ts';

/** `statement`: one durable statement. `append`: one durable append at the exact revision, of two events. */
export type Step =
  'statement' | 'append' | 'noop' | 'fetch' | 'text' | 'move' | 'flag' | 'connect' | 'envelope' | 'data';

export interface Job {
  readonly steps: readonly Step[];
  /** Of the message in INBOX. */
  readonly uid: number;
  readonly stream: string;
}

interface Place {
  readonly databaseUrl: string;
  readonly imap: MailAccount;
  readonly smtpPort: number;
}

const place = JSON.parse(process.argv[2] ?? '{}') as Place;
const node = await startBenchNode(place.databaseUrl);
const client = EventStoreDBClient.connectionString(node.url);
const sql = postgresSql(openPool({ url: place.databaseUrl, log: createJsonLog('error') }), {
  isDirect: true,
});
const imap = await openRaw(place.imap);
await imap.mailboxOpen('INBOX');

const TAKE = {
  name: 'floor_take',
  text: `insert into work.lease (name, run_id, until) values ($1, $2, now())
         on conflict (name) do update set until = now()`,
};
const EVENT_BYTES = 273;
const events = () =>
  [0, 1].map(() => jsonEvent({ type: 'Measured', data: { filler: 'x'.repeat(EVENT_BYTES) } }));

/** What the steps of one request leave for those after them. */
interface Progress {
  revision: AppendExpectedRevision;
  submission: Promise<SMTPConnection> | null;
}

const does: Readonly<Record<Step, (job: Job, progress: Progress) => Promise<unknown>>> = {
  statement: ({ stream }) => sql.query(TAKE, [stream, 'floor']),
  append: async ({ stream }, progress) => {
    const expectedRevision = progress.revision;
    const { nextExpectedRevision } = await client.appendToStream(stream, events(), { expectedRevision });
    progress.revision = nextExpectedRevision;
  },
  noop: () => imap.noop(),
  fetch: ({ uid }) => imap.fetchOne(String(uid), { envelope: true, flags: true }, { uid: true }),
  text: ({ uid }) => fetchText(imap, String(uid)),
  move: ({ uid }) => imap.messageMove(String(uid), 'Archive', { uid: true }),
  flag: ({ uid }) => imap.messageFlagsAdd(String(uid), ['\\Seen'], { uid: true }),
  connect: (_, progress) => {
    // As the gateway does: a login has no effect, and runs beside the appends that follow.
    progress.submission = connected();
    return Promise.resolve();
  },
  envelope: async (_, progress) => progress.submission,
  data: async ({ uid }, { submission }) => {
    const connection = await submission;
    await new Promise<void>((resolve, reject) => {
      const envelope = { from: place.imap.user, to: ['bob@example.com'] };
      connection?.send(envelope, message('Sent', uid), (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
    connection?.quit();
  },
};

const connected = (): Promise<SMTPConnection> =>
  new Promise((resolve, reject) => {
    const connection = new SMTPConnection({ host: '127.0.0.1', port: place.smtpPort, ignoreTLS: true });
    connection.once('error', reject);
    connection.connect(() => {
      connection.login({ user: place.imap.user, pass: place.imap.password }, (error) => {
        if (error) reject(error);
        else resolve(connection);
      });
    });
  });

async function perform(request: IncomingMessage): Promise<void> {
  const job = JSON.parse(await text(request)) as Job;
  const progress: Progress = { revision: NO_STREAM, submission: null };
  for (const step of job.steps) await does[step](job, progress);
}

const server = createServer((request, response) => {
  perform(request).then(
    () => response.end('{}'),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' && address ? address.port : 0);
});
process.on('disconnect', () => process.exit());
process.on('SIGTERM', () => process.exit());
