import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { z } from 'zod';
import { type AnyEvent, allEvents } from '../../commands/event-catalogue.ts';
import { defineEvent } from '../../commands/values/event.ts';
import { ID_PREFIXES } from '../../commands/values/ids.ts';
import {
  type Notification,
  TEST_EVENT_TYPE,
  WEBHOOK_EVENT_TYPES,
} from '../../commands/values/webhook-event.ts';
import { openApiDocument } from '../../read-api/http/openapi.ts';
import { SAMPLE_EVENTS } from '../support/samples/sample-events.ts';
import { verifies } from '../support/suite/verifies.ts';

const typesOf = ({ webhook }: AnyEvent): string[] => Object.keys(webhook?.types ?? {});
const published = allEvents.filter(({ webhook }) => webhook !== null);

/** What a stream is named after, by the webhook's type or its first word. */
const SUBJECTS: Readonly<Record<string, string>> = {
  message: 'mbx_1-20260101',
  'message.bounced': 'drf_1',
  draft: 'drf_1',
  approval: 'opn_1',
  operation: 'opn_1',
  mailbox: 'mbx_1',
  token: 'tok_1',
  member: 'org_1',
  webhook_endpoint: 'whk_1',
  policy: 'run-1-2026010112',
};

function toldOf(event: AnyEvent): readonly Notification[] {
  const [type = ''] = typesOf(event);
  const subject = SUBJECTS[type] ?? SUBJECTS[type.slice(0, type.indexOf('.'))] ?? '';
  const data = event.data.parse(SAMPLE_EVENTS[event.type]);
  const told =
    event.webhook?.notify({
      data,
      meta: { mailbox_id: 'mbx_1', actor: { type: 'agent', id: 'agt_1' } },
      subject,
      revision: 1n,
    }) ?? [];
  return told.filter((one) => one !== null);
}

const ID_OF: Readonly<Record<string, RegExp>> = {
  mailbox_id: /^mbx_/,
  mailbox_ids: /^mbx_/,
  message_id: /^msg_/,
  previous_message_id: /^msg_/,
  source_message_id: /^msg_/,
  draft_id: /^drf_/,
  approval_id: /^chk_/,
  supersedes: /^chk_/,
  operation_id: /^opn_/,
  token_id: /^tok_/,
  user_id: /^usr_/,
  principal_id: /^(usr|agt)_/,
  requester_id: /^(usr|agt)_/,
  endpoint_id: /^whk_/,
};
const ANY_ID = new RegExp(`^(${ID_PREFIXES.join('|')})_`);

/** Texts that are no id where the field's name says one, or an id where it does not. */
const misplacedIds = (data: object): string[] =>
  Object.entries(data).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one): one is string => typeof one === 'string')
      .filter((text) => (ID_OF[name] === undefined ? ANY_ID.test(text) : !ID_OF[name].test(text)))
      .map((text) => `${name}: ${text}`),
  );

describe('events that webhooks tell', () => {
  it(`lead to every type that can be subscribed to ${verifies('contract:11:event-kinds')}`, () => {
    const told = new Set(published.flatMap(typesOf));
    expect(WEBHOOK_EVENT_TYPES.filter((type) => !told.has(type))).to.deep.equal([]);
  });

  it('have one schema for each type', () => {
    const schemas = published.flatMap(({ webhook }) => Object.entries(webhook?.types ?? {}));
    const byType = Map.groupBy(schemas, ([type]) => type);
    const several = [...byType].filter(
      ([, entries]) => new Set(entries.map(([, schema]) => schema)).size > 1,
    );
    expect(several.map(([type]) => type)).to.deep.equal([]);
  });

  for (const event of published) {
    it(`make payloads of ids and plain facts: ${event.type} ${verifies('contract:11:payload')}`, () => {
      const notifications = toldOf(event);
      expect(notifications.length).to.be.greaterThan(0);
      for (const { type, data, mailboxId } of notifications) {
        event.webhook?.types[type]?.strict().parse(data);
        expect(JSON.stringify(data)).not.to.contain('sealed.');
        expect(misplacedIds(data), type).to.deep.equal([]);
        expect(mailboxId, type).to.equal(data['mailbox_id'] ?? null);
      }
      expect(new Set(notifications.map(({ type }) => type))).to.deep.equal(new Set(typesOf(event)));
    });
  }

  it(`are in the OpenAPI document with their schemas ${verifies('contract:11:event-types')}`, () => {
    const server = { baseUrl: 'https://gateway.example', version: '1' };
    const document = openApiDocument({ registry: [], publicRoutes: [] }, server);
    const { webhooks, components } = document as Record<string, Record<string, unknown>>;
    expect(webhooks).to.have.all.keys(...WEBHOOK_EVENT_TYPES, TEST_EVENT_TYPE);
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema({ $id: 'document:', webhooks, components });
    const fits = (type: string, body: object): unknown => {
      const place = `/webhooks/${type}/post/requestBody/content/application~1json/schema`;
      return ajv.validate({ $ref: `document:#${place}` }, body);
    };
    const timestamp = '2026-01-01T00:00:00.000Z';
    for (const { type, data } of published.flatMap(toldOf)) {
      expect(fits(type, { type, timestamp, data, sequence: 1 }), type).to.equal(true);
      expect(fits(type, { type, sequence: 1, withheld: true }), type).to.equal(true);
      expect(fits(type, { type, timestamp, data: {}, sequence: 1 }), type).to.equal(false);
    }
    expect(
      fits(TEST_EVENT_TYPE, { type: TEST_EVENT_TYPE, timestamp, data: { endpoint_id: 'whk_1' } }),
    ).to.equal(true);
  });

  it(`say so beside their declaration ${verifies('contract:11:event-kinds')}`, () => {
    const thing = { type: 'ThingDone', summary: 'A thing was done.', data: z.object({}) } as const;
    expect(defineEvent({ ...thing, webhook: null }).webhook).to.equal(null);
    // @ts-expect-error an event says whether it is told outside, if only by null
    expect(() => defineEvent(thing)).to.throw(TypeError);
  });
});
