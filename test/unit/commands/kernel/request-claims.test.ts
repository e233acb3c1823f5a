import { expect } from 'chai';
import { type ErrorCode, GatewayError } from '../../../../commands/values/errors.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import {
  type MemoryGateway,
  memoryLeases,
  startMemoryGateway,
} from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { type ThingMaker, thingMaker } from '../../../support/fakes/claiming-capability.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** Thrown in place of a process that dies: it is no refusal, and nothing is recorded. */
const CRASH = new Error('the process was killed');

const testClaims = (rule: Parameters<typeof thingMaker>[0]) => (): void => {
  let gateway: MemoryGateway;
  let maker: ThingMaker;
  /** Who holds which lease, of this run and of others. */
  let table: Map<string, string>;

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    maker = thingMaker(rule);
    table = new Map();
    Object.assign(gateway.ports, { leases: memoryLeases('run_1', table) });
  });

  const make = (name = 'a', key = 'key-1') => gateway.invoke(maker.capability, { name }, { key });
  const refusalOf = async (work: Promise<unknown>): Promise<ErrorCode> => {
    const error = await rejection(work);
    if (error instanceof GatewayError) return error.code;
    throw error;
  };
  const claims = () =>
    gateway.events.all.filter(({ type }) => ['RequestClaimed', 'RequestSettled'].includes(type));

  it(`replays the result of a repeated request, which ran once ${verifies('contract:14:replayed', 'contract:14:accepted')}`, async () => {
    const first = await make();
    const again = await make();
    expect(first.replayed).to.equal(false);
    expect(again).to.deep.include({ output: first.output, replayed: true });
    expect(maker.begun).to.have.length(1);
    expect(claims().map(({ type }) => type)).to.deep.equal(['RequestClaimed', 'RequestSettled']);
    expect(table.size).to.equal(0);
  });

  it('runs each request without a key', async () => {
    for (const name of ['a', 'a']) await gateway.call(maker.capability, { name });
    expect(new Set(maker.begun).size).to.equal(2);
    expect(claims()).to.deep.equal([]);
  });

  it(`refuses the key for another body, during the request and afterwards ${verifies('contract:14:reused')}`, async () => {
    let during: ErrorCode | null = null;
    maker.meanwhile = async () => {
      during = await refusalOf(make('b'));
    };
    await make();
    expect(during).to.equal('idempotency_key_reused');
    expect(await refusalOf(make('b'))).to.equal('idempotency_key_reused');
    expect(maker.begun).to.have.length(1);
  });

  it(`answers a repeat with 409 and a retry delay while the request runs ${verifies('contract:14:in-progress')}`, async () => {
    let during: Error | null = null;
    maker.meanwhile = async () => {
      during = await rejection(make());
    };
    await make();
    expect(during).to.include({ code: 'idempotency_in_progress', retryAfterSeconds: 1 });
    expect((await make()).replayed).to.equal(true);
  });

  it(`runs one of ten equal requests at once; the others get idempotency_in_progress ${verifies('contract:14:one-winner')}`, async () => {
    maker.meanwhile = () => new Promise((resolve) => setTimeout(resolve, 5));
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => make()));
    const done = outcomes.filter(({ status }) => status === 'fulfilled');
    const codes = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [(outcome.reason as GatewayError).code] : [],
    );
    expect(done).to.have.length(1);
    expect(new Set(codes)).to.deep.equal(new Set(['idempotency_in_progress']));
    expect(maker.begun).to.have.length(1);
    expect((await make()).replayed).to.equal(true);
    expect(table.size).to.equal(0);
  });

  it(`runs one of ten different requests with one key at once; the others get idempotency_key_reused ${verifies('contract:14:reused')}`, async () => {
    maker.meanwhile = () => new Promise((resolve) => setTimeout(resolve, 5));
    const names = Array.from({ length: 10 }, (_, n) => `body ${String(n)}`);
    const outcomes = await Promise.allSettled(names.map((name) => make(name)));
    const codes = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [(outcome.reason as GatewayError).code] : [],
    );
    expect(codes).to.deep.equal(Array.from({ length: 9 }, () => 'idempotency_key_reused'));
    expect(maker.begun).to.have.length(1);
    expect(table.size).to.equal(0);
  });

  it('runs one of two equal requests in two processes', async () => {
    maker.meanwhile = () => new Promise((resolve) => setTimeout(resolve, 5));
    const here = make();
    Object.assign(gateway.ports, { leases: memoryLeases('run_2', table) });
    const there = make();
    const outcomes = await Promise.allSettled([here, there]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    expect(maker.begun).to.have.length(1);
    expect(table.size).to.equal(0);
  });

  it('resumes an interrupted request under the id it had chosen when its lease is gone', async () => {
    maker.meanwhile = () => Promise.reject(CRASH);
    expect(await rejection(make())).to.equal(CRASH);
    maker.meanwhile = () => Promise.resolve();
    const claim = claims()[0]?.data['target_id'];
    const { output, replayed } = await make();
    expect(output).to.deep.equal({ id: claim, name: 'a' });
    expect(replayed).to.equal(false);
    expect(maker.begun).to.deep.equal([claim, claim]);
    expect((await make()).replayed).to.equal(true);
  });

  it('waits for the lease of a process that may still be running', async () => {
    maker.meanwhile = () => Promise.reject(CRASH);
    await rejection(make());
    const stream = claims()[0]?.streamName.replace('operation-', '') ?? '';
    table.set(stream, 'run_other');
    maker.meanwhile = () => Promise.resolve();
    expect(await refusalOf(make())).to.equal('idempotency_in_progress');
    table.delete(stream);
    expect((await make()).output).to.deep.include({ name: 'a' });
  });

  it('resumes once when ten repeats arrive at once', async () => {
    maker.meanwhile = () => Promise.reject(CRASH);
    await rejection(make());
    maker.meanwhile = () => new Promise((resolve) => setTimeout(resolve, 5));
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => make()));
    expect(maker.begun).to.have.length(2);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    expect(table.size).to.equal(0);
  });

  it('replays a request that was interrupted after its effect, and does not run it again', async () => {
    const { events } = gateway;
    const append = events.append.bind(events);
    events.append = (stream, expected, written) =>
      written[0]?.type === 'RequestSettled' ? Promise.reject(CRASH) : append(stream, expected, written);
    expect(await rejection(make())).to.equal(CRASH);
    events.append = append;
    expect(await make()).to.deep.include({ replayed: true });
    expect(maker.begun).to.have.length(1);
    expect(claims().map(({ type }) => type)).to.deep.equal(['RequestClaimed', 'RequestSettled']);
  });

  it('replays a refusal that came after the claim', async () => {
    maker.meanwhile = () => Promise.reject(new GatewayError('conflict', 'Taken meanwhile.'));
    const first = await rejection(make());
    maker.meanwhile = () => Promise.resolve();
    const again = await rejection(make());
    expect(first).to.include({ code: 'conflict', replayed: false });
    expect(again).to.include({ code: 'conflict', message: 'Taken meanwhile.', replayed: true });
    expect(maker.begun).to.have.length(1);
    expect(await refusalOf(make('b'))).to.equal('idempotency_key_reused');
  });

  it(`replays a refusal with its details, which are sealed in the log ${verifies('contract:14:refusal-details')}`, async () => {
    const details = { message_ids: ['msg_1'], rejected: [{ address: 'bob@example.com' }] };
    maker.meanwhile = () => Promise.reject(new GatewayError('selection_changed', 'It moved.', { details }));
    await rejection(make());
    const again = { code: 'selection_changed', replayed: true };
    expect(await rejection(make())).to.deep.include({ ...again, details });
    const settled = claims().at(-1)?.data['details'];
    expect(settled).to.match(/^sealed:/);
    const { personal } = gateway.ports;
    const erased = {
      ...personal,
      open: (text: Sealed) => (text === settled ? Promise.resolve(null) : personal.open(text)),
    };
    Object.assign(gateway.ports, { personal: erased });
    expect(await rejection(make()), 'once its owner is erased').to.deep.include({ ...again, details: {} });
  });

  it('records no refusal of a request that lost its lease: another may have run with the key', async () => {
    maker.meanwhile = () => {
      for (const name of table.keys()) table.set(name, 'run_other');
      return Promise.reject(new GatewayError('conflict', 'Made by the other one.'));
    };
    expect(await rejection(make())).to.include({ code: 'idempotency_in_progress', retryAfterSeconds: 1 });
    expect(claims().map(({ type }) => type)).to.deep.equal(['RequestClaimed']);
  });

  it('runs the same key again when the failure was temporary', async () => {
    for (const code of [
      'overloaded',
      'mailbox_unavailable',
      'store_unavailable',
      'internal_error',
    ] as const) {
      maker.meanwhile = () => Promise.reject(new GatewayError(code, 'Not now.'));
      expect(await refusalOf(make('a', code))).to.equal(code);
      maker.meanwhile = () => Promise.resolve();
      const { output, replayed } = await make('a', code);
      expect({ output, replayed }).to.deep.equal({
        output: { id: maker.begun.at(-1), name: 'a' },
        replayed: false,
      });
      expect(maker.begun.at(-2)).to.equal(maker.begun.at(-1));
    }
  });

  it(`leaves the key free when the request was refused before its claim ${verifies('contract:14:refused-frees')}`, async () => {
    const refused = gateway.invoke(maker.capability, { name: 1 }, { key: 'key-1' });
    expect(await refusalOf(refused)).to.equal('invalid_request');
    expect((await make()).replayed).to.equal(false);
  });

  it('answers not_found instead of running again when the result is gone', async () => {
    await make();
    maker.made.clear();
    expect(await refusalOf(make())).to.equal('not_found');
    expect(maker.begun).to.have.length(1);
  });

  it(`separates the keys of two principals ${verifies('contract:14:key-scope')}`, async () => {
    const { state } = gateway.ports.directory;
    const agentsToken =
      [...state.tokens.values()].find(({ principalKind }) => principalKind === 'agent')?.id ?? '';
    const [first, second] = [
      await make(),
      await gateway.invoke(maker.capability, { name: 'b' }, { key: 'key-1', token: agentsToken }),
    ];
    expect(second.replayed).to.equal(false);
    expect(second.output).not.to.deep.equal(first.output);
  });

  it('records no outcome when the store is unavailable', async () => {
    gateway.events.away = true;
    expect(await refusalOf(make())).to.equal('store_unavailable');
    gateway.events.comeBack();
    expect((await make()).replayed).to.equal(false);
    expect(table.size).to.equal(0);
  });

  it('answers before the lease is released once the end is recorded', async () => {
    const { leases } = gateway.ports;
    Object.assign(gateway.ports, {
      leases: { ...leases, release: () => new Promise<void>(() => undefined) },
    });
    expect((await make()).replayed).to.equal(false);
    expect((await make()).replayed).to.equal(true);
  });
};

describe('request claims', testClaims({}));

describe(
  'request claims of a handler that has no effect before its claim',
  testClaims({ claimsFirst: true }),
);
