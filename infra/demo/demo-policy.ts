/** The policy of the demo: a person's own tools may send within the demo's domain, so that mail can be seen to arrive. */
import { systemAuthor } from '../../commands/kernel/system-author.ts';
import { type PolicyPorts, readPolicyDocument, setPolicy } from '../../commands/policy/set-policy.ts';

/** Sends of agents, and whatever leaves the domain, wait for an approval as the built-in policy has it. */
export async function setDemoPolicy(ports: PolicyPorts, orgId: string, domain: string): Promise<void> {
  const { state } = ports.directory;
  if (state.policies.has(orgId)) return;
  const when = { actions: ['send'], actors: ['delegated'], recipient_domains: [domain] };
  const rules = [{ id: 'demo-own-domain', when, then: { decision: 'allow' } }];
  const document = readPolicyDocument(state, orgId, { internal_domains: [domain], rules });
  await setPolicy(ports, systemAuthor(ports, orgId), orgId, document);
}
