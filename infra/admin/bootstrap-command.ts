/** `admin bootstrap`: creates the first organisation. Refused when one exists. */
import { readFileSync } from 'node:fs';
import { passwordLink, type PersonPorts } from '../../commands/organisation/add-person.ts';
import {
  type BootstrapPorts,
  bootstrapOrganisation,
} from '../../commands/organisation/bootstrap-organisation.ts';

export interface BootstrapArguments {
  readonly org: string;
  readonly email: string;
  readonly name: string;
  readonly passwordFile: string | undefined;
}

/**
 * Returns one JSON. Its tokens are shown only this once. Without a password it contains the link that sets
 * one.
 */
export async function bootstrapCommand(
  ports: BootstrapPorts & PersonPorts,
  { org, email, name, passwordFile }: BootstrapArguments,
): Promise<string> {
  const made = await bootstrapOrganisation(ports, {
    orgName: org,
    ownerEmail: email,
    ownerName: name,
    password: passwordFile === undefined ? null : readFileSync(passwordFile, 'utf8').trimEnd(),
    agentName: 'Agent',
  });
  const facts = {
    org_id: made.orgId,
    user_id: made.userId,
    agent_id: made.agentId,
    rest_token: made.restToken,
    mcp_token: made.mcpToken,
    ...(passwordFile === undefined && { password_link: await passwordLink(ports, made.userId) }),
  };
  return JSON.stringify(facts, null, 2);
}
