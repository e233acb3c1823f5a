/** POST /mailboxes/autodiscovery: the mail servers of an address, from DNS alone. */
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { DISCOVERY_SOURCES, foundHosts, isHostName, noHosts, usualHosts } from './mail-hosts.ts';
import { PROVIDERS } from './known-providers.ts';
import { EmailField, HostSettings } from './mailbox-payload.ts';

const Input = z.strictObject({ email: EmailField });
type Input = z.output<typeof Input>;

const Discovery = z.object({
  imap: z.array(HostSettings).describe('The best first; at most five.'),
  smtp: z.array(HostSettings).describe('The best first; at most five.'),
  provider: z.enum(PROVIDERS).nullable().describe('Who takes the mail of the domain, where that is known.'),
  source: z
    .enum(DISCOVERY_SOURCES)
    .describe(
      'srv: the domain names these hosts. known: those of the provider. guess: they only have a usual name. none: nothing was found.',
    ),
});
type Discovery = z.output<typeof Discovery>;

export const discoverMailbox = defineCapability<Input, Discovery>({
  name: 'discover_mailbox',
  title: 'Find mail servers',
  summary: 'Finds the IMAP and SMTP hosts of an address in DNS.',
  description:
    'Looks up the domain of the address: SRV records (RFC 6186), then the provider that takes its mail, then usual names. Only ' +
    'the domain is looked up, and nothing connects to the hosts: the answer says nothing about whether the address exists.',
  effect: 'read',
  access: { any: ['mailboxes:manage'] },
  rest: { method: 'post', path: '/mailboxes/autodiscovery' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: Discovery,
  handle: async ({ email }, { ports }) => {
    const domain = domainToASCII(email.slice(email.lastIndexOf('@') + 1)).replace(/\.$/, '');
    const found = isHostName(domain)
      ? foundHosts(domain, await ports.mailDiscovery.recordsOf(domain, usualHosts(domain)))
      : noHosts();
    const { imap, smtp, provider, source } = found;
    return {
      imap: imap.map((host) => ({ ...host })),
      smtp: smtp.map((host) => ({ ...host })),
      provider,
      source,
    };
  },
});
