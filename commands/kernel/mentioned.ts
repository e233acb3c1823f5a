/** What a request names as the object it is about, whether that exists or not. */
import type { About } from './decide-and-append.ts';

const FORMS = { mailbox_id: /^mbx_[0-9a-z]{26}$/, approval_id: /^chk_[0-9a-z]{26}$/ } as const;

/** Mailbox and approval of an input, for the envelope; text without the form of an id is left out. */
export function mentionedIn(input: unknown): About {
  if (typeof input !== 'object' || input === null) return {};
  const named = Object.entries(FORMS).flatMap(([name, form]) => {
    const id: unknown = (input as Readonly<Record<string, unknown>>)[name];
    return typeof id === 'string' && form.test(id) ? [[name, id]] : [];
  });
  return Object.fromEntries(named) as About;
}
