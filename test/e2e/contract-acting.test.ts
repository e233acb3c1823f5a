import { expect } from 'chai';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import {
  type Answer,
  eventually,
  type Json,
  startWithMailbox,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage, withClient } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

interface ActOptions {
  readonly key?: string | null;
  readonly token?: string;
  readonly cardinality?: object;
  readonly authorization?: object;
}

describe('the contract for acting on mail', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let anna: string;
  let berta: string;
  let keys = 0;
  let arrivals = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId: anna } = await startWithMailbox(dovecot));
    berta = await gateway.addMailbox(dovecot.imap(), 'berta');
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  /** Puts `count` messages into a folder and gives their ids, oldest first, and the word in their subjects. */
  const arrive = async (
    count: number,
    folder = 'INBOX',
    [user, mailboxId]: readonly [string, string] = ['anna', anna],
  ): Promise<{ ids: string[]; word: string }> => {
    arrivals += 1;
    const word = `batch${String(arrivals)}x`;
    const numbers = Array.from({ length: count }, (_, index) => String(index));
    const messages = numbers.map((n) => ({
      folder,
      raw: plainMessage({ subject: `${word} ${n}`, id: `<${word}-${n}@example.org>` }),
    }));
    await appendMessages(dovecot.imap(), user, messages);
    const select = { folder: `path:${folder}`, filter: { subject_contains: word }, order_by: 'received_asc', limit: 200 }; // prettier-ignore
    // The mail server takes its time to tell of them.
    return await eventually(async () => {
      const { body } = await gateway.rest('POST', `/mailboxes/${mailboxId}/email.query`, { select });
      if (body.items.length < count) throw new Error('not all of it has arrived');
      return { ids: body.items.map(({ id }: Json) => id as string) as string[], word };
    });
  };

  const newKey = (): string => {
    keys += 1;
    return `acting-${String(keys)}`;
  };

  const post = (path: string, body: object, { key, token }: ActOptions = {}): Promise<Answer> =>
    gateway.rest('POST', path, body, {
      ...(key === null ? {} : { key: key ?? newKey() }),
      ...(token === undefined ? {} : { token }),
    });

  const act = (select: object, actions: readonly object[], options: ActOptions = {}): Promise<Answer> => {
    const { cardinality, authorization } = options;
    const operation = { type: 'message_actions', select, actions };
    return post(`/mailboxes/${anna}/email.act`, { operation, cardinality, authorization }, options);
  };

  const inFolder = (folder: string, word: string): Promise<number> =>
    withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen(folder, { readOnly: true });
      const found = await client.search({ subject: word }, { uid: true });
      return found === false || found === undefined ? 0 : found.length;
    });

  const operationsSubmitted = async (): Promise<number> => {
    const { ports } = gateway.gateway;
    await ports.readModels.waitFor(await ports.events.headPosition(), 5_000);
    const [row] = await ports.sql.query(
      "select count(*)::int as n from read.audit where type = 'OperationSubmitted'",
    );
    return Number(row?.['n']);
  };

  const expectInvalid = (answer: Answer, path: string): void => {
    expect(answer.body.error).to.include({ status: 400, code: 'invalid_request' });
    expect(answer.body.error.details.issues[0].path).to.equal(path);
  };

  const tokenOf = async (principalId: string, scopes: readonly string[]): Promise<string> => {
    const wanted = { name: 'acting', principal_id: principalId, surface: 'rest', scopes };
    const { body } = await gateway.rest('POST', '/tokens', { ...wanted, expires_at: inAnHour() });
    return body.token as string;
  };

  it(`runs every action type, expunge through its approval ${verifies('contract:6:action-types', 'contract:17:email-act')}`, async () => {
    const types: [object, string][] = [
      [{ type: 'move', folder: 'sent' }, 'Sent'],
      [{ type: 'copy', folder: 'drafts' }, 'Drafts'],
      [{ type: 'trash' }, 'Trash'],
      [{ type: 'spam' }, 'Junk'],
      [{ type: 'archive' }, 'Archive'],
      [{ type: 'set_flags', seen: true, flagged: true, answered: true, keywords_add: ['a'], keywords_remove: ['b'] }, 'INBOX'],
    ]; // prettier-ignore
    for (const [action, folder] of types) {
      const { ids, word } = await arrive(1);
      const { body } = await act({ mailbox_id: anna, message_ids: ids }, [action], {
        authorization: { mode: 'execute', reason: 'tidy up' },
        cardinality: { min: 1, max: 1 },
      });
      expect(body.summary, folder).to.deep.equal({ done: 1, failed: 0, unknown: 0 });
      expect(await inFolder(folder, word), folder).to.equal(1);
    }
    const junk = await arrive(1, 'Junk');
    expect((await act({ message_ids: junk.ids }, [{ type: 'not_spam' }])).body.summary.done).to.equal(1);
    expect(await inFolder('INBOX', junk.word)).to.equal(1);
    const kept = await arrive(1);
    const now = { authorization: { mode: 'execute' } };
    const { body } = await act({ message_ids: kept.ids }, [{ type: 'expunge' }], now);
    expect(body.error.code).to.equal('approval_required');
    expect(await inFolder('INBOX', kept.word)).to.equal(1);
  });

  it(`accepts at most one relocating action, as the last one ${verifies('contract:6:relocating-last')}`, async () => {
    const { ids, word } = await arrive(1);
    const select = { message_ids: ids };
    const flag = { type: 'set_flags', seen: true };
    expectInvalid(await act(select, [{ type: 'archive' }, flag]), 'operation.actions.0');
    expectInvalid(await act(select, [{ type: 'trash' }, { type: 'archive' }]), 'operation.actions.0');
    expect(await inFolder('INBOX', word)).to.equal(1);
    const { body } = await act(select, [flag, { type: 'copy', folder: 'sent' }, { type: 'archive' }]);
    expect(body.summary.done).to.equal(3);
  });

  it(`accepts at most 500 ids, from several folders ${verifies('contract:6:ids-limit')}`, async () => {
    const [first, second] = [await arrive(1), await arrive(1, 'Archive')];
    const { body } = await act({ message_ids: [...first.ids, ...second.ids] }, [{ type: 'trash' }]);
    expect(body.summary.done).to.equal(2);
    const many = Array.from({ length: 501 }, (_, index) => `msg_${String(index)}`);
    expectInvalid(await act({ message_ids: many }, [{ type: 'trash' }]), 'operation.select.message_ids');
    const allowed = await act({ message_ids: many.slice(1) }, [{ type: 'trash' }]);
    expect(allowed.body.error.code, 'only their number was wrong').to.equal('not_found');
  });

  it(`runs nothing and answers not_found when a message is in another mailbox ${verifies('contract:6:foreign-id', 'contract:1:locator-mailbox')}`, async () => {
    const own = await arrive(1);
    const foreign = await arrive(1, 'INBOX', ['berta', berta]);
    const answers = [
      await act({ message_ids: [...own.ids, ...foreign.ids] }, [{ type: 'archive' }]),
      await post(`/mailboxes/${anna}/archive`, { message_ids: foreign.ids }),
      await gateway.rest('POST', `/mailboxes/${anna}/email.query`, { select: { message_ids: foreign.ids } }),
    ];
    for (const { status, body } of answers) {
      expect(status).to.equal(404);
      expect(body.error.code).to.equal('not_found');
    }
    expect(await inFolder('INBOX', own.word)).to.equal(1);
  });

  it(`accepts a filter that selects all its matches ${verifies('contract:6:declarative')}`, async () => {
    const { word } = await arrive(4);
    const select = { folder: 'inbox', filter: { subject_contains: word } };
    const trash = [{ type: 'trash' }];
    expectInvalid(await act(select, trash), 'cardinality.max');
    for (const [name, value] of [['limit', 2], ['cursor', 'x'], ['order_by', 'size_asc']] as const) {
      expectInvalid(
        await act({ ...select, [name]: value }, trash, { cardinality: { max: 4 } }),
        `operation.select.${name}`,
      );
    } // prettier-ignore
    const tooMany = await act(select, trash, { cardinality: { max: 501 } });
    expectInvalid(tooMany, 'cardinality.max');
    expect(await inFolder('INBOX', word)).to.equal(4);
    const { body } = await act(select, trash, { cardinality: { max: 4 } });
    expect(body.results).to.have.length(4);
    expect(await inFolder('Trash', word)).to.equal(4);
  });

  it(`counts the ids given, including stale ones, or the matches ${verifies('contract:6:cardinality-counts')}`, async () => {
    const { ids, word } = await arrive(2);
    const [gone = ''] = ids;
    expect((await post(`/mailboxes/${anna}/archive`, { message_ids: [gone] })).body.summary.done).to.equal(1);
    const flag = [{ type: 'set_flags', flagged: true }];
    const tooFew = await act({ message_ids: ids }, flag, { cardinality: { min: 3 } });
    expect(tooFew.body.error).to.deep.include({
      status: 412,
      details: { count: 2, min: 3, max: 2, suggested_tool: 'email_query' },
    });
    const matches = { folder: 'inbox', filter: { subject_contains: word } };
    const missing = await act(matches, flag, { cardinality: { min: 2, max: 9 } });
    expect(missing.body.error.details.count).to.equal(1);
    const { body } = await act({ message_ids: ids }, flag, { cardinality: { min: 2, max: 2 } });
    expect(body.results.map(({ outcome }: Json) => outcome)).to.deep.equal(['failed', 'done']);
  });

  it(`creates no operation when selection or connection fail ${verifies('contract:6:resolved-first', 'contract:14:refused-frees')}`, async () => {
    const { ids } = await arrive(1);
    const before = await operationsSubmitted();
    const down = await gateway.rest('POST', '/mailboxes', {
      email: 'down@example.com',
      imap: { host: '127.0.0.1', port: 1, security: 'none' },
      smtp: { host: '127.0.0.1', port: 1, security: 'none' },
      auth: { type: 'password', username: 'down', password: PASSWORD },
    });
    const downId = String(down.body.id);
    await gateway.waitForState(downId, 'connection_failed');
    const operation = (folder: string) => ({
      operation: { type: 'message_actions', select: { folder, filter: {} }, actions: [{ type: 'set_flags', seen: true }] },
      cardinality: { max: 5 },
    }); // prettier-ignore
    const key = newKey();
    const answers = [
      await act({ message_ids: ids }, [{ type: 'trash' }], { key, cardinality: { min: 2, max: 2 } }),
      await act({ message_ids: ['msg_unknown'] }, [{ type: 'trash' }], { key }),
      await act({ message_ids: ids }, [{ type: 'move', folder: 'No/Such' }], { key }),
      await post(`/mailboxes/${downId}/email.act`, operation('all'), { key }),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([412, 404, 404, 503]);
    expect(await operationsSubmitted()).to.equal(before);
    expect((await act({ message_ids: ids }, [{ type: 'trash' }], { key })).body.status).to.equal('completed');
    expect(await operationsSubmitted()).to.equal(before + 1);
  });

  it(`runs the direct verbs with their own fields at once or not at all ${verifies('contract:6:direct-verbs', 'contract:17:move-copy', 'contract:17:trash-spam-archive', 'contract:17:set-flags')}`, async () => {
    const cardinality = { min: 1, max: 1 };
    const verbs: [string, object, string][] = [
      ['move', { folder: 'sent', cardinality }, 'Sent'],
      ['copy', { folder: 'path:Drafts', cardinality }, 'Drafts'],
      ['trash', { cardinality }, 'Trash'],
      ['spam', { cardinality }, 'Junk'],
      ['archive', { cardinality }, 'Archive'],
      ['set_flags', { seen: true, flagged: true, answered: true, keywords_add: ['x'], keywords_remove: ['y'] }, 'INBOX'],
    ]; // prettier-ignore
    for (const [verb, fields, folder] of verbs) {
      const { ids, word } = await arrive(1);
      const tooFew = { message_ids: ids, ...fields, cardinality: { min: 2, max: 2 } };
      expect((await post(`/mailboxes/${anna}/${verb}`, tooFew)).status, verb).to.equal(412);
      const answer = await post(`/mailboxes/${anna}/${verb}`, { message_ids: ids, ...fields });
      expect(answer.body.summary, verb).to.deep.equal({ done: 1, failed: 0, unknown: 0 });
      expect(answer.body.results[0].action).to.equal(verb);
      expect(await inFolder(folder, word), verb).to.equal(1);
      const submitted = await submission(answer);
      expect(submitted.data).to.include({ capability: verb, mode: 'execute' });
      expectInvalid(
        await post(`/mailboxes/${anna}/${verb}`, { message_ids: ids, ...fields, mode: 'x' }),
        'mode',
      );
    }
  });

  /** Event 0 of the operation behind an answer, as the audit trail shows it. */
  const submission = (answer: Answer): Promise<Json> =>
    eventually(async () => {
      const path = `/audit?type=OperationSubmitted&resource=${String(answer.body.operation_id)}`;
      const [line] = (await gateway.rest('GET', path)).body.items;
      if (line === undefined) throw new Error('not told yet');
      return line;
    });

  it(`requires a key for email.act and copy, but not for a preview ${verifies('contract:14:required')}`, async () => {
    const { ids, word } = await arrive(1);
    const select = { message_ids: ids };
    const refused = [
      await act(select, [{ type: 'archive' }], { key: null }),
      await post(`/mailboxes/${anna}/copy`, { ...select, folder: 'sent' }, { key: null }),
    ];
    for (const { body } of refused) {
      expect(body.error).to.include({ status: 400, code: 'idempotency_key_required' });
    }
    expect(await inFolder('INBOX', word)).to.equal(1);
    const preview = { key: null, authorization: { mode: 'preview' } };
    expect((await act(select, [{ type: 'archive' }], preview)).body.status).to.equal('preview');
    const direct = await post(`/mailboxes/${anna}/archive`, select, { key: null });
    expect(direct.body.status).to.equal('completed');
  });

  it(`accepts keys of 1 to 255 visible characters, separate for each principal ${verifies('contract:14:key-form', 'contract:14:key-scope')}`, async () => {
    const { ids } = await arrive(1);
    const flag = { message_ids: ids, seen: true };
    const path = `/mailboxes/${anna}/set_flags`;
    for (const key of ['', 'a b', 'x'.repeat(256)]) {
      expectInvalid(await post(path, flag, { key }), 'idempotency_key');
    }
    const longest = 'k'.repeat(255);
    expect((await post(path, flag, { key: longest })).status).to.equal(200);
    const token = await tokenOf(gateway.tokens.agentId, ['messages:flag']);
    const other = await post(path, { ...flag, seen: false }, { key: longest, token });
    expect(other.status).to.equal(200);
    expect(other.headers.get('idempotency-replayed')).to.equal(null);
  });

  it(`reads a key after access and before policy and mailbox ${verifies('contract:14:claim-first')}`, async () => {
    const { ids } = await arrive(1);
    const key = newKey();
    const archive = [{ type: 'archive' }];
    const first = await act({ message_ids: ids }, archive, { key });
    await gateway.rest('PATCH', `/mailboxes/${anna}`, { paused: true });
    const replayed = await act({ message_ids: ids }, archive, { key });
    const fresh = await act({ message_ids: ids }, archive);
    const token = await tokenOf(gateway.tokens.userId, ['messages:read']);
    const unseen = await act({ message_ids: ids }, archive, { key, token });
    await gateway.rest('PATCH', `/mailboxes/${anna}`, { paused: false });
    await gateway.waitForState(anna, 'connected');
    expect(replayed.headers.get('idempotency-replayed')).to.equal('true');
    expect(replayed.body.results).to.deep.equal(first.body.results);
    expect(fresh.body.error.code).to.equal('conflict');
    expect(unseen.body.error.code).to.equal('insufficient_scope');
  });

  it(`applies the folders of a grant to source and destination ${verifies('contract:3:grant-folders')}`, async () => {
    const agent = await gateway.rest('POST', '/agents', { name: 'Inbox and archive' });
    await gateway.rest('POST', `/mailboxes/${anna}/grants`, {
      principal_id: agent.body.id,
      preset: 'operator',
      folder_roles: ['inbox', 'archive'],
    });
    const scopes = ['messages:read', 'messages:archive', 'messages:trash', 'messages:move'];
    const token = await tokenOf(String(agent.body.id), scopes);
    const inbox = await arrive(1);
    const sent = await arrive(1, 'Sent');
    const refused = [
      await post(`/mailboxes/${anna}/trash`, { message_ids: inbox.ids }, { token }),
      await post(`/mailboxes/${anna}/move`, { message_ids: inbox.ids, folder: 'Sent' }, { token }),
      await post(`/mailboxes/${anna}/archive`, { message_ids: sent.ids }, { token }),
      await act({ folder: 'sent', filter: {} }, [{ type: 'archive' }], { token, cardinality: { max: 9 } }),
    ];
    expect(refused.map(({ body }) => body.error.code as string)).to.deep.equal([
      ...['folder_role_missing', 'not_found', 'not_found', 'folder_role_missing'],
    ]);
    const { body } = await post(`/mailboxes/${anna}/archive`, { message_ids: inbox.ids }, { token });
    expect(body.summary.done).to.equal(1);
    expect(await inFolder('Sent', sent.word)).to.equal(1);
  });
});
