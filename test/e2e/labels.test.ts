import { expect } from 'chai';
import { type Answer, type Json, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { eventually } from '../support/suite/eventually.ts';
import { GMAIL_LIKE } from '../support/servers/imap-habits.ts';
import { ALL_MAIL, LabelledAccount } from '../support/servers/fake-gmail/labelled-account.ts';
import { ScriptedImapServer } from '../support/servers/scripted-imap.ts';
import { plainMessage } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

interface Item {
  readonly id: string;
  readonly subject: string;
  readonly folder: { readonly path: string };
  readonly also_in?: readonly { readonly path: string; readonly role: string | null }[];
}

const pathsOf = ({ also_in = [] }: Item): readonly string[] => also_in.map(({ path }) => path).toSorted();

describe('a mailbox with labels through the whole gateway', function () {
  this.timeout(90_000);
  let server: ScriptedImapServer;
  let gateway: TestGateway;
  let mailboxId: string;

  before(async () => {
    server = await ScriptedImapServer.start(GMAIL_LIKE, new LabelledAccount());
    server.account.create('Work');
    deliver('plain', ['INBOX']);
    deliver('labelled', ['INBOX', 'Work']);
    deliver('archived', []);
    gateway = await startTestGateway();
    mailboxId = await gateway.addMailbox(server.imap(), 'gmail');
    await eventually(async () => {
      const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}`);
      const { indexed, total } = body.sync as { indexed: number; total: number };
      return total > 0 && indexed === total;
    });
  });
  after(async () => {
    await gateway.stop();
    await server.close();
  });

  const deliver = (subject: string, labels: readonly string[]): void => {
    server.account.deliver({ raw: plainMessage({ subject, id: `<${subject}@example.org>` }), labels });
  };
  const ok = ({ status, body }: Answer): Json => {
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  const query = async (select: object): Promise<readonly Item[]> => {
    const body = ok(await gateway.rest('POST', `/mailboxes/${mailboxId}/email.query`, { select }));
    return body.items as readonly Item[];
  };
  const find = async (subject: string, select: object = {}): Promise<Item> => {
    const [item, ...more] = await query({ ...select, filter: { subject_contains: subject } });
    expect(more).to.deep.equal([]);
    if (!item) throw new Error(`${subject} is not found`);
    return item;
  };
  const act = async (id: string, type: string, key: string): Promise<Json> => {
    const operation = {
      type: 'message_actions',
      select: { message_ids: [id] },
      actions: [{ type }],
    };
    return ok(
      await gateway.rest(
        'POST',
        `/mailboxes/${mailboxId}/email.act`,
        { operation, authorization: { mode: 'execute' } },
        { key },
      ),
    );
  };

  it(`returns one item per message with the names of its other folders ${verifies('contract:4:gmail-one-item')}`, async () => {
    for (const select of [{}, { folder: 'all' }]) {
      const items = await query(select);
      expect(items.map(({ subject }) => subject).toSorted()).to.deep.equal(['archived', 'labelled', 'plain']);
    }
    const labelled = await find('labelled');
    expect(labelled.folder.path).to.equal('INBOX');
    expect(pathsOf(labelled)).to.deep.equal(['Work', ALL_MAIL]);
    expect(labelled.also_in?.find(({ path }) => path === ALL_MAIL)?.role).to.equal('all_mail');
    const archived = await find('archived');
    expect([archived.folder.path, pathsOf(archived)]).to.deep.equal([ALL_MAIL, []]);
    const work = await find('labelled', { folder: 'Work' });
    expect([work.folder.path, pathsOf(work)]).to.deep.equal(['Work', ['INBOX', ALL_MAIL]]);
    const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages/${labelled.id}`);
    expect(body.also_in).to.deep.equal(labelled.also_in);
  });

  it(`archives by removing the message from INBOX ${verifies('contract:4:gmail-archive')}`, async () => {
    const { id } = await find('plain');
    const reply = await act(id, 'archive', 'archive-plain');
    const [result] = reply.results as readonly { outcome: string; new_message_id?: string }[];
    expect(result?.outcome).to.equal('done');
    const now = await find('plain');
    expect([now.id, now.folder.path, pathsOf(now)]).to.deep.equal([result?.new_message_id, ALL_MAIL, []]);
    expect((await query({ folder: 'inbox' })).map(({ subject }) => subject)).to.deep.equal(['labelled']);
    const gone = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages/${id}`);
    expect([gone.status, gone.body.error.details.current_id]).to.deep.equal([409, now.id]);
  });
});
