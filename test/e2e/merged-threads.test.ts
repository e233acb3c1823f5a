import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const mail = (id: string, ...headers: string[]): string =>
  ['From: b@example.org', `Message-ID: <${id}@x>`, `Subject: ${id}`, ...headers, '', 'Text', ''].join('\r\n');

describe('threads that merge', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(dovecot.imap(), 'anna', [
      { raw: mail('first') },
      { raw: mail('third', 'In-Reply-To: <second@x>') },
    ]);
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
  });
  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const overRest = async (filter: object, view = 'summary'): Promise<readonly Json[]> => {
    const path = `/mailboxes/${mailboxId}/email.query`;
    const select = { folder: 'inbox', filter };
    return (await gateway.rest('POST', path, { select, view })).body.items as Json[];
  };

  it(`answer under the ids of both, over REST and MCP ${verifies('contract:1:merged-threads', 'contract:4:thread-components')}`, async () => {
    // Absent until the first pass is done.
    const ids = await eventually(async () => {
      const [third, first] = await overRest({});
      expect(first).to.have.property('thread_id').that.is.a('string');
      return [first.thread_id, third.thread_id] as string[];
    });
    expect(new Set(ids).size).to.equal(2);
    await appendMessages(dovecot.imap(), 'anna', [{ raw: mail('second', 'References: <first@x>') }]);
    const all = ['first', 'second', 'third'];
    const transport = new StreamableHTTPClientTransport(new URL(`${gateway.baseUrl}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${gateway.tokens.mcpToken}` } },
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    for (const thread_id of ids) {
      await eventually(async () => {
        expect((await overRest({ thread_id })).map(({ subject }) => subject)).to.have.members(all);
      });
      const select = { mailbox_id: mailboxId, folder: 'inbox', filter: { thread_id } };
      const answer = await client.callTool({ name: 'email_query', arguments: { select } });
      const { items } = answer.structuredContent as { items: Json[] };
      expect(items.map(({ subject }) => subject)).to.have.members(all);
    }
    await client.close();
    const items = await overRest({});
    const [thread, ...others] = await overRest({}, 'threads');
    expect(others).to.deep.equal([]);
    expect(thread.message_ids).to.have.members(items.map(({ id }) => id as string));
    expect(new Set(items.map(({ thread_id }) => thread_id))).to.deep.equal(new Set([thread.thread_id]));
    expect(ids).to.include(thread.thread_id);
    const one = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages/${String(items[0].id)}`);
    expect(one.body.thread_id).to.equal(thread.thread_id);
  });
});
