import { expect } from 'chai';
import { z } from 'zod';
import { FilterSchema } from '../../../../commands/mail/mail-filter.ts';
import { readInput } from '../../../../commands/kernel/input-issues.ts';
import { capabilities } from '../../../../read-api/capabilities.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const told = (schema: z.ZodType, input: unknown): string[] =>
  (readInput(schema, input).issues ?? []).map(({ path, message }) => `${path}: ${message}`);
const field = (schema: z.ZodType, value?: unknown): string | undefined =>
  told(z.strictObject({ x: schema }), value === undefined ? {} : { x: value })[0];

describe('input issues', () => {
  it(`describes each problem in a sentence that follows its path ${verifies('contract:13:sentences')}`, () => {
    expect(field(z.int().min(1).max(10), 11)).to.equal('x: must be 1 to 10');
    expect(field(z.int().min(1).max(10), 0)).to.equal('x: must be 1 to 10');
    expect(field(z.int().min(3), 2)).to.equal('x: must be at least 3');
    expect(field(z.int().positive(), 0)).to.equal('x: must be more than 0');
    expect(field(z.int(), 1.5)).to.equal('x: must be a whole number');
    expect(field(z.string())).to.equal('x: is missing');
    expect(field(z.enum(['a', 'b']))).to.equal('x: is missing');
    expect(field(z.union([z.string(), z.null()]))).to.equal('x: is missing');
    expect(field(z.string(), 5)).to.equal('x: must be text');
    expect(field(z.boolean(), 'yes')).to.equal('x: must be true or false');
    expect(field(z.array(z.string()), 'a')).to.equal('x: must be a list');
    expect(field(z.strictObject({}), [])).to.equal('x: must be an object');
    expect(field(z.string().min(1), '')).to.equal('x: must not be empty');
    expect(field(z.string().min(2).max(4), 'abcde')).to.equal('x: must have 2 to 4 characters');
    expect(field(z.array(z.string()).min(1).max(2), ['', '', ''])).to.equal('x: must have 1 to 2 items');
    expect(field(z.iso.datetime({ offset: true }), '2026-01-31')).to.equal(
      'x: must be RFC 3339 with a zone, e.g. 2026-01-31T12:00:00Z',
    );
    expect(field(z.enum(['open', 'closed']), 'ajar')).to.equal('x: must be one of open, closed');
    expect(field(z.literal('done'), 'x')).to.equal('x: must be done');
    expect(field(z.string().min(3, 'Give the whole name.'), 'a'), 'own words').to.equal(
      'x: Give the whole name.',
    );
  });

  it('lists the known fields when one is unknown', () => {
    expect(told(FilterSchema, { form: 'a@example.com' })[0]).to.match(
      /^form: is not known here; remove it or correct its spelling\. Known are: seen, .*from_contains, .*all, not\.$/,
    );
    expect(told(FilterSchema, { any: [{ form: 'a' }, { seen: 1 }] })).to.have.length(2);
  });

  it('describes the intended shape when the schema has several', () => {
    const Attachment = z.union([
      z.strictObject({ upload_id: z.string() }),
      z.strictObject({ filename: z.string(), content_base64: z.string() }),
    ]);
    expect(told(Attachment, { filename: 'a.txt' })).to.deep.equal(['content_base64: is missing']);
    expect(told(z.array(Attachment), [{ upload_id: 5 }])).to.deep.equal(['0.upload_id: must be text']);
    expect(told(Attachment, 'a')).to.deep.equal([': must be an object']);
    expect(field(z.union([z.string(), z.array(z.string())]), 5)).to.equal('x: must be text or a list');
    const Action = z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('move') }),
      z.strictObject({ type: z.literal('copy') }),
    ]);
    expect(told(Action, { type: 'fly' })).to.deep.equal(['type: must be one of move, copy']);
  });

  it(`describes what an attachment, an address and set_flags may contain ${verifies('contract:13:sentences')}`, () => {
    const toolOf = (name: string): z.ZodType => {
      const found = capabilities.find((capability) => capability.name === name);
      if (!found) throw new Error(`no ${name}`);
      return found.input;
    };
    const start = (fields: object) => told(toolOf('start_draft'), { mailbox_id: 'mbx_1', ...fields });
    const either =
      'must be {"id"} of an upload or of an attachment of a message, or {"filename", "content_base64"}';
    for (const item of [5, 'upl_1', null, { filename: 'a.txt' }]) {
      expect(start({ attachments: [item] }), JSON.stringify(item)).to.deep.equal([
        `attachments.0: ${either}`,
      ]);
    }
    expect(start({ attachments: [{ filename: 'a', content_base64: '%' }] })).to.deep.equal([
      'attachments.0.content_base64: must be Base64',
    ]);
    expect(start({ attachments: [{ content_base64: 'QQ==' }] })).to.deep.equal([
      'attachments.0.filename: is missing',
    ]);
    expect(start({ to: [5] })).to.deep.equal(['to.0: must be text or an object']);
    expect(start({ to: [{ name: 'Anna' }] })).to.deep.equal(['to.0.email: is missing']);
    expect(told(toolOf('set_flags'), { mailbox_id: 'mbx_1', message_ids: ['msg_1'] })).to.deep.equal([
      ': set_flags needs at least one flag or keyword to change.',
    ]);
    const operation = { type: 'message_actions', select: {}, actions: [{ type: 'set_flags' }] };
    expect(told(toolOf('email_act'), { mailbox_id: 'mbx_1', operation })).to.deep.equal([
      'operation.actions.0: set_flags needs at least one flag or keyword to change.',
    ]);
    const roles = { archive: 'INBOX' };
    expect(told(toolOf('set_folder_roles'), { mailbox_id: 'mbx_1', roles })).to.deep.equal([
      'roles.archive: must begin with fld_',
    ]);
  });

  it("repeats neither the input nor the validation library's messages", () => {
    const values = [undefined, null, 'swordfish', 4_711, true, ['swordfish'], { swordfish: 'swordfish' }];
    for (const { name, input } of capabilities) {
      const { properties = {} } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
      const inputs = Object.keys(properties).flatMap((key) => values.map((value) => ({ [key]: value })));
      const messages = inputs
        .flatMap((sent) => readInput(input, sent).issues ?? [])
        .map(({ message }) => message);
      expect(messages.join('\n'), name).not.to.match(
        /swordfish|Invalid|expected \w+,|received |Too (big|small)/,
      );
    }
  });
});
