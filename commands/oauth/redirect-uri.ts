/** The redirect addresses that an application may have (RFC 8252, OAuth 2.1 2.3). */
import { z } from 'zod';

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A program on the computer of the browser, not a host in the network. */
export const isLoopbackHost = (hostname: string): boolean => LOOPBACK_HOSTS.has(hostname);

/**
 * Why an address cannot receive a code; null when it can. https with any host, http on a loopback address, or a private scheme
 * with a dot such as `com.example.app:/callback`.
 */
export function whyNotRedirect(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return 'This is not an absolute address.';
  if (url.hash !== '' || text.includes('#')) return 'It must not have a fragment.';
  if (url.username !== '' || url.password !== '') return 'It must not have a user name or password.';
  if (url.protocol === 'https:') return null;
  if (url.protocol === 'http:')
    return isLoopbackHost(url.hostname) ? null : 'http is only for a loopback address; use https.';
  return /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(url.protocol)
    ? null
    : 'Use https, http on a loopback address, or a private scheme with a dot in it.';
}

export const RedirectUriField = z
  .string()
  .min(1)
  .max(2_000)
  .superRefine((text, refinement) => {
    const message = whyNotRedirect(text);
    if (message !== null) refinement.addIssue({ code: 'custom', message });
  });
