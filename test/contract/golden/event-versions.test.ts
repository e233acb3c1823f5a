import { readdir, readFile, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { allEvents, eventCatalogue } from '../../../commands/event-catalogue.ts';
import { readEvent, versionOf } from '../../../commands/values/event.ts';
import type { StoredEvent } from '../../../commands/values/event.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';

const FOLDER = 'test/golden/events';

const storedFrom = (file: string, data: Record<string, unknown>): StoredEvent => {
  const [, type = '', version = ''] = /^(\w+)\.v(\d+)\.json$/.exec(file) ?? [];
  return {
    id: '00000000-0000-5000-8000-000000000001',
    type,
    streamName: 'sample-1',
    revision: 0n,
    position: 0n,
    storedAt: new Date(0),
    data,
    metadata: {
      v: Number(version),
      org_id: 'org_1',
      actor: { type: 'system', id: 'gateway', token_id: null, session_id: null },
      surface: 'system',
      request_id: 'req_1',
      $correlationId: 'req_1',
      $causationId: 'req_1',
      occurred_at: '2026-01-01T00:00:00.000Z',
    },
  };
};

describe('stored events', () => {
  before(async () => {
    if (process.env['GOLDEN'] !== '1') return;
    // Only the newest version is ever recorded: the files of older ones are history.
    for (const definition of allEvents) {
      const file = `${FOLDER}/${definition.type}.v${String(versionOf(definition))}.json`;
      await writeFile(file, `${JSON.stringify(SAMPLE_EVENTS[definition.type], null, 2)}\n`);
    }
  });

  it('are readable in every version that was ever stored', async () => {
    for (const file of await readdir(FOLDER)) {
      const data = JSON.parse(await readFile(`${FOLDER}/${file}`, 'utf8')) as Record<string, unknown>;
      const fact = readEvent(eventCatalogue, storedFrom(file, data));
      expect(fact, file).not.to.equal(null);
    }
  });

  it('have a sample of their newest version', async () => {
    const files = new Set(await readdir(FOLDER));
    const missing = allEvents
      .map((definition) => `${definition.type}.v${String(versionOf(definition))}.json`)
      .filter((file) => !files.has(file));
    expect(missing).to.deep.equal([]);
  });
});
