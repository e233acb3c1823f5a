import { expect } from 'chai';
import { z } from 'zod';
import type { CapabilityDefinition } from '../../../commands/kernel/capability.ts';
import { capabilities } from '../../../read-api/capabilities.ts';
import { defineRegistry } from '../../../read-api/capability-registry.ts';

const hints = { readOnly: true, destructive: false, idempotent: true, openWorld: false };

const sound: CapabilityDefinition<{ note_id: string }, object> = {
  name: 'get_note',
  title: 'Note',
  summary: 'A note.',
  description: 'Reads a note.',
  effect: 'read',
  access: 'any-token',
  rest: { method: 'get', path: '/notes/:note_id' },
  tool: { surface: 'granular', hints },
  idempotency: { kind: 'none' },
  input: z.strictObject({ note_id: z.string() }),
  output: z.object({}),
  handle: async () => ({}),
};

const problems = (...list: readonly object[]): string => {
  try {
    defineRegistry(list.map((change) => ({ ...sound, ...change })));
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
};

describe('defineRegistry', () => {
  it('accepts valid declarations and cannot be changed afterwards', () => {
    const registry = defineRegistry([sound]);
    expect(registry).to.deep.equal([sound]);
    expect(Object.isFrozen(registry)).to.equal(true);
  });

  it('accepts the registry of the gateway', () => {
    expect(capabilities.length).to.be.greaterThan(0);
    expect(problems(...capabilities)).to.equal('');
  });

  it('refuses two of one name, and two of one route whatever the parameters are called', () => {
    const elsewhere = { rest: { method: 'get', path: '/other/:note_id' } };
    expect(problems({}, elsewhere)).to.include('two capabilities are called get_note');
    const input = z.strictObject({ id: z.string() });
    const same = { name: 'again', input, rest: { method: 'get', path: '/notes/:id' } };
    expect(problems({}, same)).to.include('two capabilities have the route get /notes/:');
    expect(problems({}, { name: 'patch', rest: { method: 'patch', path: '/notes/:note_id' } })).to.equal('');
  });

  it('refuses a route that an earlier one covers', () => {
    const all = { name: 'all_notes', input: z.strictObject({}), rest: { method: 'get', path: '/notes/all' } };
    expect(problems({}, all)).to.include('an earlier route takes every request for get /notes/all');
    expect(problems(all, {})).to.equal('');
    expect(problems({}, { ...all, rest: { method: 'post', path: '/notes/all' } })).to.equal('');
  });

  const broken: readonly [string, object, string][] = [
    ['an invalid tool name', { name: 'get-note' }, 'snake_case'],
    ['an input that accepts unknown fields', { input: z.object({ note_id: z.string() }) }, 'strict object'],
    ['an input without the parameter of the path', { input: z.strictObject({}) }, 'path parameter'],
    ['a GET that writes', { effect: 'write', tool: null }, 'GET must not change'],
    ['a read that takes If-Match', { ifMatch: true }, 'only a write with a route takes If-Match'],
    ['neither route nor tool', { rest: null, tool: null }, 'neither a route nor a tool'],
    [
      'a read with a key',
      { idempotency: { kind: 'operation', required: () => true } },
      'takes no idempotency key',
    ],
    [
      'a tool that says it only reads',
      { effect: 'write', rest: { method: 'post', path: '/notes/:note_id' } },
      'disagree',
    ],
    ['access for no caller', { access: { any: [] } }, 'no caller could ever use it'],
    [
      'an unknown body field',
      { rest: { method: 'put', path: '/notes/:note_id', bodyField: 'text' } },
      'bodyField',
    ],
    [
      'a body for its DELETE where it is none',
      { rest: { method: 'post', path: '/notes/:note_id', deleteBody: true } },
      'only a DELETE',
    ],
    ['a tool without a description', { description: ' ' }, 'needs a title and a description'],
    [
      'a location without a 201',
      { rest: { method: 'post', path: '/notes/:note_id', location: () => '/' } },
      'only a 201',
    ],
  ];
  for (const [what, change, problem] of broken) {
    it(`refuses ${what}, by name`, () => {
      expect(problems(change))
        .to.match(/^unsound registry:\n/)
        .and.to.include(problem);
    });
  }

  it('names every problem at once', () => {
    expect(problems({ name: 'Bad', access: { any: [] } }).split('\n')).to.have.length(3);
  });
});
