import { expect } from 'chai';
import { z } from 'zod';
import type { Capability } from '../../commands/kernel/capability.ts';
import { isMailboxScope, type MailboxScope, PRESETS, type Scope } from '../../commands/values/scopes.ts';
import { ToolCatalogue } from '../../mcp/list-tools.ts';
import { NEWEST_REVISION } from '../../mcp/protocol-revisions.ts';
import { capabilities } from '../../read-api/capabilities.ts';
import { publicRoutes } from '../../read-api/http/public-routes.ts';
import { sampleCaller } from '../support/worlds/mcp/sample-caller.ts';
import { verifies } from '../support/suite/verifies.ts';

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** Names of the fields that a schema describes, wherever they stand in it. */
function fieldsOf(schema: unknown): string[] {
  if (!isObject(schema)) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => [
    ...(keyword === 'properties' && isObject(value) ? Object.keys(value) : []),
    ...fieldsOf(value),
  ]);
}

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): unknown =>
  z.toJSONSchema(schema, { io, unrepresentable: 'any' });

const toolsOf = (surface: 'advertised' | 'granular'): readonly Capability[] =>
  capabilities.filter(({ tool }) => tool?.surface === surface);

describe('the capabilities', () => {
  it(`have names in snake_case ${verifies('contract:0:snake-case')}`, () => {
    const fields = capabilities.flatMap(({ input, output }) => [
      ...fieldsOf(schemaOf(input, 'input')),
      ...fieldsOf(schemaOf(output, 'output')),
    ]);
    expect(new Set(fields).size).to.be.above(100);
    expect(fields.filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))).to.deep.equal([]);
  });

  it(`have these routes to sign in, and none for another factor ${verifies('contract:17:route-auth', 'contract:18:auth-routes', 'contract:18:no-mfa')}`, () => {
    const routes = [...capabilities, ...publicRoutes].flatMap(({ rest }) =>
      rest?.path.startsWith('/auth/') ? [`${rest.method} ${rest.path.slice('/auth/'.length)}`] : [],
    );
    expect(routes).to.have.members([
      'post authorization-requests',
      'post authorization-requests/read',
      'post setup',
      'post signup',
      'post verify',
      'post verify/resend',
      'post login',
      'post logout',
      'get session',
      'get sessions',
      'delete sessions/:session_id',
      'post sessions/revoke-all',
      'post step-up',
      'post switch-org',
      'post session/token',
      'post password/forgot',
      'post password/change',
      'post password/reset',
      'post password/reset/link',
      'post invites/accept',
      'post invites/accept/link',
    ]);
  });

  it(`accept no unknown field ${verifies('contract:0:unknown-fields')}`, () => {
    for (const { name, input } of capabilities) {
      const { error } = input.safeParse({ misspelt: 1 });
      const unknown = error?.issues.filter(({ code }) => code === 'unrecognized_keys') ?? [];
      expect(unknown, name).to.have.length(1);
    }
  });

  it(`accept an Idempotency-Key on every write except switches, tests, unused objects and a session's own calls ${verifies('contract:14:accepted')}`, () => {
    const without = capabilities.filter(
      ({ effect, idempotency }) => effect === 'write' && idempotency.kind === 'none',
    );
    expect(without.map(({ name }) => name)).to.have.members([
      'settings_toggle_advanced_tools',
      'test_mailbox_connection',
      // A repeat finds the checkpoint that is there.
      'seal_checkpoint',
      // A repeat joins the one that is asked for.
      'verify_audit',
      // A repeat of the same decision answers the same.
      'decide_authorization_request',
      // Bytes are not read before they are taken, so two uploads cannot be compared.
      'upload_attachment',
      'start_provider_authorization',
      'delete_session',
      'revoke_sessions',
      'sign_out',
      'step_up',
      'switch_organisation',
      'create_session_token',
    ]);
  });

  it(`accept If-Match when the path names a versioned object ${verifies('contract:0:if-match')}`, () => {
    const held = capabilities.filter(({ ifMatch }) => ifMatch);
    expect(held.map(({ rest }) => `${rest?.method ?? ''} ${rest?.path ?? ''}`)).to.have.members([
      'patch /agents/:agent_id',
      'patch /org/oauth-clients/:oauth_client_id',
      'patch /mailboxes/:mailbox_id',
      'delete /mailboxes/:mailbox_id',
      'post /drafts/:draft_id/edit_draft',
      'post /drafts/:draft_id/patch_draft',
      'post /drafts/:draft_id/discard_draft',
      'delete /drafts/:draft_id',
      'post /drafts/:draft_id/send_draft',
      'post /drafts/:draft_id/wants_to_send_draft',
      'put /org/policy',
      'patch /webhook-endpoints/:endpoint_id',
      'delete /webhook-endpoints/:endpoint_id',
    ]);
  });

  it(`keep audit, tokens, agents and administration off MCP ${verifies('contract:0:rest-only')}`, () => {
    const names = capabilities.filter(({ tool }) => tool !== null).map(({ name }) => name);
    expect(names.filter((name) => /audit|token|agent|grant|mailbox|credential|role|openapi/.test(name))).to.deep.equal([]); // prettier-ignore
    const administrative = capabilities.filter(
      ({ access }) =>
        typeof access !== 'string' &&
        access.any.every((scope) => !isMailboxScope(scope) && scope !== 'approvals:read'),
    );
    expect(administrative).to.have.length.above(15);
    for (const { name, tool } of administrative) expect(tool, name).to.equal(null);
  });

  it(`advertise tools by their scopes ${verifies('contract:16:advertised-scopes')}`, () => {
    const catalogue = new ToolCatalogue(capabilities);
    const listed = (...scopes: readonly Scope[]): string[] => {
      const view = { caller: sampleCaller({ scopes }), advancedTools: false, revision: NEWEST_REVISION };
      const { tools } = JSON.parse(catalogue.list(view)) as { tools: { name: string }[] };
      return tools.map(({ name }) => name);
    };
    const always = ['get_identity', 'settings_toggle_advanced_tools'];
    expect(listed()).to.deep.equal(always);
    expect(listed('messages:read')).to.deep.equal([...always, 'email_query', 'email_await']);
    expect(listed('approvals:read')).to.deep.equal([...always, 'email_await', 'email_requests']);
    const acting: readonly MailboxScope[] = [
      'messages:flag', 'messages:move', 'messages:copy', 'messages:archive', 'messages:spam', 'messages:trash',
    ]; // prettier-ignore
    for (const scope of acting) expect(listed(scope), scope).to.deep.equal([...always, 'email_act']);
    for (const scope of ['folders:read', 'drafts:read', 'attachments:read'] as const)
      expect(listed('messages:body', scope), scope).to.deep.equal([...always, 'email_query']);
    expect(listed('messages:body', 'folders:manage')).to.deep.equal(always);
  });

  it(`name a granular tool by the end of its route ${verifies('contract:16:granular-names')}`, () => {
    const lastSegment = ({ rest }: Capability): string => rest?.path.split('/').at(-1) ?? '';
    const granular = toolsOf('granular');
    expect(granular).to.have.length.above(5);
    const others = granular.filter((capability) => capability.name !== lastSegment(capability));
    expect(others.map((capability) => [capability.name, lastSegment(capability)])).to.deep.equal([
      ['get_attachment', ''],
      ['list_folders', 'list'],
      ['get_draft', ''],
    ]);
  });

  it(`describe every tool for a model ${verifies('contract:16:tool-description')}`, () => {
    for (const { name, title, description } of [...toolsOf('advertised'), ...toolsOf('granular')]) {
      expect(title, name).to.match(/^[A-Z].{3,}/);
      expect(description.length, name).to.be.above(title.length);
    }
  });
});

describe('presets', () => {
  it(`stand for their scopes ${verifies('contract:3:presets')}`, () => {
    const reader = [
      'messages:read', 'messages:body', 'attachments:read', 'folders:read', 'drafts:read', 'mailboxes:read', 'approvals:read',
    ] as const; // prettier-ignore
    const approvals = ['approvals:request', 'approvals:commit', 'approvals:cancel'] as const;
    const triage = [
      'messages:flag', 'messages:move', 'messages:copy', 'messages:archive', 'messages:spam', 'messages:trash',
    ] as const; // prettier-ignore
    const drafts = ['drafts:write', 'drafts:discard'] as const;
    expect(Object.keys(PRESETS)).to.have.length(6);
    expect(PRESETS.reader).to.have.members([...reader]);
    expect(PRESETS.triage).to.have.members([...reader, ...triage, ...approvals]);
    expect(PRESETS.drafter).to.have.members([...reader, ...drafts]);
    expect(PRESETS.sender).to.have.members([...reader, ...drafts, 'drafts:send', ...approvals]);
    expect(PRESETS.operator).to.have.members([
      ...reader, ...triage, ...drafts, 'drafts:send', ...approvals, 'messages:expunge',
    ]); // prettier-ignore
    expect(PRESETS.auditor).to.have.members([
      'org:read', 'mailboxes:read', 'approvals:read', 'deliveries:read', 'audit:read', 'audit:export',
    ]); // prettier-ignore
  });
});
