/** The settings of one mail provider whose mailboxes log in with OAuth. */
import { z } from 'zod';
import { settings } from './setting-forms.ts';

/**
 * The registration of the gateway at a mail provider. Without client id and secret its mailboxes cannot be
 * authorized.
 */
export function providerSettings(title: string, issuer: string) {
  const fallback = `no ${title} mailboxes with OAuth`;
  return {
    clientId: z
      .string()
      .optional()
      .register(settings, {
        description: `Client id of the gateway at ${title}. Its redirect address is BASE_URL/oauth/provider/callback.`,
        fallback,
      }),
    clientSecret: z
      .string()
      .optional()
      .register(settings, {
        description: `Client secret of the gateway at ${title}.`,
        fallback,
        secret: true,
      }),
    issuer: z
      .string()
      .refine(isIssuer, 'must be an https address without query, or an http one of this machine')
      .optional()
      .register(settings, {
        description: `Issuer to use instead of ${title}'s own, for one tenant or a sovereign cloud (OpenID Connect Discovery).`,
        fallback: issuer,
      }),
  };
}

/** Plain HTTP only on this machine, where no other party can read it. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash } = new URL(text);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return search === '' && hash === '' && (protocol === 'https:' || (protocol === 'http:' && isLocal));
}
