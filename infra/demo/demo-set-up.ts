/** Fills an empty gateway: organisation, owner, agent, tokens by bootstrap; mailbox and grant by the owner's own calls. */
import { randomBytes } from 'node:crypto';
import { isMailboxScope, PRESETS } from '../../commands/values/scopes.ts';
import {
  bootstrapOrganisation,
  issueFirstTokens,
} from '../../commands/organisation/bootstrap-organisation.ts';
import type { Gateway } from '../process/gateway.ts';
import type { DemoFacts } from './demo-facts.ts';
import type { DemoMail } from './demo-mail.ts';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { type PolicyPorts, readPolicyDocument, setPolicy } from '../../commands/policy/set-policy.ts';

const DOMAIN = 'example.com';
const OWNER_EMAIL = `owner@${DOMAIN}`;

/** The facts of the demo; those of an earlier run stay as they are while they are still good. */
export async function setUpDemo(
  gateway: Gateway,
  mail: DemoMail,
  earlier: DemoFacts | null,
): Promise<DemoFacts> {
  const principals = await setUpPrincipals(gateway, earlier);
  const base = {
    base_url: gateway.baseUrl,
    mcp_url: `${gateway.baseUrl}/mcp`,
    ...principals,
    owner_email: OWNER_EMAIL,
    imap: mail.imap,
    smtp: mail.smtp,
  };
  const email = mail.imap.user.includes('@') ? mail.imap.user : `${mail.imap.user}@${DOMAIN}`;
  await setDemoPolicy(gateway.ports, principals.org_id, email.slice(email.lastIndexOf('@') + 1));
  const mailboxId = await setUpMailbox(base, { ...mail, email }, earlier);
  return { ...base, mailbox_id: mailboxId };
}

type Principals = Pick<
  DemoFacts,
  'org_id' | 'user_id' | 'agent_id' | 'rest_token' | 'mcp_token' | 'owner_password'
>;

/** Tokens name the address they are for and run out, so a start on another port or months later gets new ones. */
async function setUpPrincipals({ ports, baseUrl }: Gateway, earlier: DemoFacts | null): Promise<Principals> {
  const { state } = ports.directory;
  if (earlier && state.organisations.has(earlier.org_id)) {
    const { org_id, user_id, agent_id, rest_token, mcp_token, owner_password } = earlier;
    const kept = { org_id, user_id, agent_id, rest_token, mcp_token, owner_password };
    if (earlier.base_url === baseUrl && (await answers(baseUrl, rest_token)) && (await isGood(mcp_token)))
      return kept;
    const { restToken, mcpToken } = await issueFirstTokens(ports, {
      orgId: org_id,
      userId: user_id,
      agentId: agent_id,
    });
    return { ...kept, rest_token: restToken, mcp_token: mcpToken };
  }
  const password = randomBytes(15).toString('base64url');
  const made = await bootstrapOrganisation(ports, {
    orgName: 'Demo',
    ownerEmail: OWNER_EMAIL,
    ownerName: 'Demo Owner',
    password,
    agentName: 'Demo Agent',
  });
  return {
    org_id: made.orgId,
    user_id: made.userId,
    agent_id: made.agentId,
    rest_token: made.restToken,
    mcp_token: made.mcpToken,
    owner_password: password,
  };

  function isGood(token: string): Promise<boolean> {
    return ports.tokens.verifyAccessToken(token).then(
      () => true,
      () => false,
    );
  }
}

const answers = async (baseUrl: string, token: string): Promise<boolean> =>
  (await fetch(`${baseUrl}/api/v1/identity`, { headers: { authorization: `Bearer ${token}` } })).ok;

type Owner = Pick<DemoFacts, 'base_url' | 'rest_token' | 'agent_id'>;

async function call(
  owner: Owner,
  method: string,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${owner.base_url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${owner.rest_token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`The demo could not be set up: ${method} ${path} answered ${text}`);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

/** Creates the mailbox, or updates it when the mail server has other ports than last time. */
async function setUpMailbox(
  owner: Owner,
  mail: Pick<DemoMail, 'imap' | 'smtp'> & { readonly email: string },
  earlier: DemoFacts | null,
): Promise<string> {
  const imap = { host: mail.imap.host, port: mail.imap.port, security: 'none' };
  const smtp = { host: mail.smtp.host, port: mail.smtp.port, security: 'none' };
  const auth = { type: 'password', username: mail.imap.user, password: mail.imap.password };
  if (earlier) {
    const moved = earlier.imap.port !== imap.port || earlier.smtp.port !== smtp.port;
    if (moved) await call(owner, 'PATCH', `/mailboxes/${earlier.mailbox_id}`, { imap, smtp, auth });
    return earlier.mailbox_id;
  }
  const created = await call(owner, 'POST', '/mailboxes', {
    email: mail.email,
    display_name: 'Demo mailbox',
    imap,
    smtp,
    auth,
  });
  const id = String(created['id']);
  await call(owner, 'POST', `/mailboxes/${id}/grants`, {
    principal_id: owner.agent_id,
    scopes: PRESETS.operator.filter(isMailboxScope),
  });
  return id;
}

/** Sends of agents, and whatever leaves the domain, wait for an approval as the built-in policy has it. */
async function setDemoPolicy(ports: PolicyPorts, orgId: string, domain: string): Promise<void> {
  const { state } = ports.directory;
  if (state.policies.has(orgId)) return;
  const when = { actions: ['send'], actors: ['delegated'], recipient_domains: [domain] };
  const rules = [{ id: 'demo-own-domain', when, then: { decision: 'allow' } }];
  const document = readPolicyDocument(state, orgId, { internal_domains: [domain], rules });
  await setPolicy(ports, systemAuthor(ports, orgId), orgId, document);
}
