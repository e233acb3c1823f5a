import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateTaskResultSchema,
  GetTaskResultSchema,
  ListTasksResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { eventually } from '../../support/suite/eventually.ts';
import { openSession, rawMcp, rpc } from '../../support/worlds/mcp/raw-mcp.ts';
import { notThere, type TaskProcess, TaskStage, type Waiting } from '../../support/worlds/mcp/task-stage.ts';
import { verifies } from '../../support/suite/verifies.ts';

interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly ttl: number;
}
/** What results of every method may hold. */
interface Result extends Partial<Task> {
  readonly task?: Task;
  readonly tasks: readonly Task[];
  readonly tools: readonly { readonly name: string; readonly execution?: { readonly taskSupport: string } }[];
  readonly structuredContent: { readonly status?: string; readonly error?: object };
  readonly isError: boolean;
  readonly capabilities: object;
}
interface Body {
  readonly result: Result;
  readonly error?: { readonly code: number; readonly message: string };
}

const NEWEST = '2025-11-25';
const RELATED = 'io.modelcontextprotocol/related-task';

describe('tools called as tasks', function () {
  this.timeout(60_000);
  let stage: TaskStage;
  let one: TaskProcess;
  let two: TaskProcess;
  /** Headers of a session per bearer and revision. */
  const sessions = new Map<string, Record<string, string>>();

  before(async () => {
    stage = await TaskStage.start();
    one = await stage.process();
    two = await stage.process();
    for (const bearer of ['one', 'same', 'other', 'narrow']) {
      sessions.set(bearer, await openSession(one.served.url, NEWEST, bearer));
    }
  });
  after(() => stage.close());
  beforeEach(async () => {
    await stage.sql.query('truncate work.mcp_task');
    one.waiting.length = 0;
  });

  const send = async (method: string, params: object, { at = one, bearer = 'one' } = {}) => {
    const headers = sessions.get(bearer) ?? {};
    const { body, status } = await rawMcp(at.served.url, { headers, bearer, body: rpc(method, params) });
    return { status, ...(body as Body) };
  };
  const ask = async (method: string, params: object, where = {}): Promise<Result> => {
    const { result, error } = await send(method, params, where);
    expect(error).to.equal(undefined);
    return result;
  };
  const refused = async (method: string, params: object, where = {}) =>
    (await send(method, params, where)).error;
  const callParams = (more: object = {}) => ({ name: 'note_await', arguments: {}, task: {}, ...more });
  const create = async (more: object = {}, where = {}): Promise<Task> => {
    const { task } = CreateTaskResultSchema.parse(await ask('tools/call', callParams(more), where));
    return task as Task;
  };
  /** The call of the newest task, once it has begun. */
  const begun = async (at = one): Promise<Waiting> => {
    await eventually(() => at.waiting.length > 0);
    const [call] = at.waiting.slice(-1);
    if (!call) throw new Error('no call has begun');
    return call;
  };

  it(`are offered by the newest revision and marked on the tool ${verifies('contract:16:tasks-capability', 'contract:16:tasks')}`, async () => {
    const hello = { capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const greet = async (protocolVersion: string): Promise<object> => {
      const { body } = await rawMcp(one.served.url, {
        body: rpc('initialize', { ...hello, protocolVersion }),
      });
      return (body as Body).result.capabilities;
    };
    expect(await greet(NEWEST)).to.deep.equal({
      tools: { listChanged: true },
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
    for (const revision of ['2025-06-18', '2025-03-26']) {
      expect(await greet(revision)).to.deep.equal({ tools: { listChanged: true } });
    }
    const { tools } = await ask('tools/list', {});
    const supports = tools.map(({ name, execution }) => [name, execution?.taskSupport]);
    expect(supports).to.deep.include(['note_await', 'optional']);
    expect(supports).to.deep.include(['note_query', undefined]);
  });

  it(`are ignored and unknown in older revisions ${verifies('contract:16:other-revisions-ignore-task', 'contract:16:tasks')}`, async () => {
    for (const revision of ['2025-06-18', '2025-03-26']) {
      const headers = await openSession(one.served.url, revision);
      const sent = async (method: string, params: object): Promise<Body> =>
        (await rawMcp(one.served.url, { headers, body: rpc(method, params) })).body as Body;
      const calling = sent('tools/call', callParams());
      (await begun()).answer({ status: 'matched' });
      const { result } = await calling;
      expect(result).to.deep.include({ structuredContent: { status: 'matched' }, isError: false });
      expect(result).not.to.have.property('task');
      for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']) {
        expect((await sent(method, { taskId: 'tsk_1' })).error?.code).to.equal(-32601);
      }
      const { result: listed } = await sent('tools/list', {});
      expect(JSON.stringify(listed)).not.to.contain('execution');
      one.waiting.length = 0;
    }
  });

  it(`are answered at once, run, and complete with the answer of the plain call ${verifies('contract:16:tasks-result')}`, async () => {
    const task = await create();
    expect(task.taskId).to.match(/^tsk_/);
    expect(task.status).to.equal('working');
    const got = GetTaskResultSchema.parse(
      await ask('tasks/get', { taskId: task.taskId, task: {}, _meta: {} }),
    );
    expect(got).to.include({ status: 'working', taskId: task.taskId });
    expect(got).not.to.have.property('_meta');
    const result = ask('tasks/result', { taskId: task.taskId });
    (await begun()).answer({ status: 'matched' });
    expect(await result).to.deep.equal({
      content: [{ type: 'text', text: '{"status":"matched"}' }],
      structuredContent: { status: 'matched' },
      isError: false,
      _meta: { [RELATED]: { taskId: task.taskId } },
    });
    expect(await ask('tasks/get', { taskId: task.taskId })).to.include({ status: 'completed' });
    expect(await ask('tasks/result', { taskId: task.taskId })).to.deep.equal(await result);
  });

  it(`are answered by any replica, and their result is awaited there too ${verifies('contract:16:tasks-any-replica')}`, async () => {
    const { taskId } = await create();
    expect(await ask('tasks/get', { taskId }, { at: two })).to.include({ status: 'working' });
    const result = ask('tasks/result', { taskId }, { at: two });
    expect(two.waiting).to.have.length(0);
    (await begun()).answer({ status: 'matched' });
    expect((await result).structuredContent).to.deep.equal({ status: 'matched' });
  });

  it(`fail with a result that gives the reason ${verifies('contract:16:tasks-result')}`, async () => {
    const { taskId } = await create();
    (await begun()).fail(notThere());
    const result = await ask('tasks/result', { taskId });
    expect(result.isError).to.equal(true);
    expect(result.structuredContent.error).to.include({ code: 'mailbox_unavailable', retryable: true });
    expect(await ask('tasks/get', { taskId })).to.include({
      status: 'failed',
      statusMessage: 'mailbox_unavailable: It is away.',
    });
  });

  it(`are refused like the plain call for arguments, name and scope, and for tools that allow no task ${verifies('contract:16:tasks-capability')}`, async () => {
    expect((await refused('tools/call', callParams({ arguments: { nonsense: 1 } })))?.code).to.equal(-32602);
    expect((await refused('tools/call', callParams({ name: 'nobody' })))?.code).to.equal(-32602);
    expect((await refused('tools/call', callParams({ task: { ttl: 'long' } })))?.code).to.equal(-32602);
    expect((await refused('tools/call', callParams({ task: 5 })))?.code).to.equal(-32602);
    expect((await refused('tools/call', callParams({ name: 'get_identity' })))?.code).to.equal(-32601);
    expect(await send('tools/call', callParams(), { bearer: 'narrow' })).to.include({ status: 403 });
    expect((await ask('tasks/list', {})).tasks).to.deep.equal([]);
  });

  it(`are kept for the requested time, within limits that the answer names ${verifies('contract:16:tasks-ttl')}`, async () => {
    const DAY_MS = 86_400_000;
    for (const [ttl, kept] of [
      [undefined, 3_600_000],
      [120_000, 120_000],
      [1, 60_000],
      [2 * DAY_MS, DAY_MS],
    ] as const) {
      const task = await create({ task: ttl === undefined ? {} : { ttl } });
      expect(task.ttl).to.equal(kept);
      expect(await ask('tasks/get', { taskId: task.taskId })).to.include({ ttl: kept });
    }
  });

  it(`belong to the principal: another token of it continues them, other principals cannot ${verifies('contract:16:tasks-of-principal')}`, async () => {
    const { taskId } = await create();
    (await begun()).answer({ status: 'matched' });
    await ask('tasks/result', { taskId });
    expect((await ask('tasks/result', { taskId }, { bearer: 'same' })).structuredContent.status).to.equal(
      'matched',
    );
    expect((await ask('tasks/list', {}, { bearer: 'same' })).tasks).to.have.length(1);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      const foreign = await refused(method, { taskId }, { bearer: 'other' });
      expect(foreign).to.deep.equal(await refused(method, { taskId: 'tsk_nobody' }));
      expect(foreign?.code).to.equal(-32602);
    }
    expect((await ask('tasks/list', {}, { bearer: 'other' })).tasks).to.deep.equal([]);
    // The same principal with a token that may not make the call may not have its answer either.
    expect(await send('tasks/result', { taskId }, { bearer: 'narrow' })).to.include({ status: 403 });
  });

  it(`are cancelled once, and their call is ended without an answer ${verifies('contract:16:tasks-cancel')}`, async () => {
    const { taskId } = await create();
    const call = await begun();
    expect(await ask('tasks/cancel', { taskId })).to.include({ taskId, status: 'cancelled' });
    expect(call.gone?.aborted).to.equal(true);
    expect((await refused('tasks/cancel', { taskId }))?.code).to.equal(-32602);
    expect((await refused('tasks/result', { taskId }))?.code).to.equal(-32602);
    await eventually(async () => (await one.leases.holder(taskId)) === null);
    expect(await ask('tasks/get', { taskId })).to.include({ status: 'cancelled' });
  });

  it('cannot be cancelled when they are over', async () => {
    const { taskId } = await create();
    (await begun()).answer({ status: 'matched' });
    await ask('tasks/result', { taskId });
    expect((await refused('tasks/cancel', { taskId }))?.code).to.equal(-32602);
    expect(await ask('tasks/get', { taskId })).to.include({ status: 'completed' });
  });

  it(`are listed page by page ${verifies('contract:16:tasks-list')}`, async () => {
    const made: string[] = [];
    for (let index = 0; index < 53; index += 1) {
      const { taskId } = await create();
      made.push(taskId);
      await ask('tasks/cancel', { taskId });
    }
    const first = ListTasksResultSchema.parse(await ask('tasks/list', {}));
    const second = ListTasksResultSchema.parse(
      await ask('tasks/list', { cursor: first.nextCursor }, { at: two }),
    );
    expect(first.tasks).to.have.length(50);
    expect([...first.tasks, ...second.tasks].map(({ taskId }) => taskId)).to.deep.equal(made);
    expect(second).not.to.have.property('nextCursor');
    for (const cursor of ['x', 5, Buffer.from('{}').toString('base64url')]) {
      expect((await refused('tasks/list', { cursor }))?.code).to.equal(-32602);
    }
  });

  it(`are limited to 20 running, and the next is 429 ${verifies('contract:16:tasks-live')}`, async () => {
    for (let index = 0; index < 20; index += 1) await create();
    expect(await send('tools/call', callParams())).to.include({ status: 429 });
    expect(await send('tools/call', callParams(), { bearer: 'other' })).to.include({ status: 200 });
  });

  it('free the concurrency limit while their result is awaited', async () => {
    const { taskId } = await create();
    const { gate } = one.served;
    expect([gate.atWork, gate.waiting]).to.deep.equal([0, 0]);
    const result = ask('tasks/result', { taskId });
    await eventually(() => gate.atWork === 0 && gate.waiting === 1);
    (await begun()).answer({ status: 'matched' });
    await result;
    expect([gate.atWork, gate.waiting]).to.deep.equal([0, 0]);
  });

  it(`are driven by the official client from creation to result ${verifies('contract:16:tasks-result')}`, async () => {
    const transport = new StreamableHTTPClientTransport(new URL(one.served.url), {
      requestInit: { headers: { authorization: 'Bearer one' } },
    });
    const client = new Client({ name: 'official', version: '1' });
    await client.connect(transport);
    expect(client.getServerCapabilities()?.tasks).to.deep.equal({
      list: {},
      cancel: {},
      requests: { tools: { call: {} } },
    });
    await client.listTools();
    const kinds: string[] = [];
    const stream = client.experimental.tasks.callToolStream(
      { name: 'note_await', arguments: {} },
      undefined,
      {
        task: { ttl: 60_000 },
      },
    );
    for await (const message of stream) {
      kinds.push(message.type);
      if (message.type === 'taskCreated') (await begun()).answer({ status: 'matched' });
      if (message.type === 'result') {
        expect(message.result).to.deep.include({ structuredContent: { status: 'matched' } });
      }
    }
    expect(kinds.filter((kind) => kind !== 'taskStatus')).to.deep.equal(['taskCreated', 'result']);
    const { tasks } = await client.experimental.tasks.listTasks();
    expect(tasks.map(({ status }) => status)).to.deep.equal(['completed']);
    one.waiting.length = 0;
    const second = await create();
    expect((await client.experimental.tasks.cancelTask(second.taskId)).status).to.equal('cancelled');
    await client.close();
  });

  it(`fail with a remedy when their process died ${verifies('contract:16:tasks-any-replica')}`, async () => {
    const third = await stage.process();
    const { taskId } = await create({}, { at: third });
    await begun(third);
    await third.leases.close();
    const got = await ask('tasks/get', { taskId });
    expect(got.status).to.equal('failed');
    expect(got.statusMessage).to.match(/Call the tool again/);
    const error = await refused('tasks/result', { taskId });
    expect(error).to.deep.equal({ code: -32603, message: got.statusMessage });
  });
});
