import type { RequirementTable } from './requirement.ts';

const START = 'start_provider_authorization';
const END = 'end_provider_authorization';

/** Mailboxes that log in with a provider's tokens: sections 4, 17 and 18. */
export const contractProviders = {
  'contract:4:provider-waits': [
    START,
    'A mailbox with auth_type oauth2 stays pending until its provider is authorized, then connects.',
  ],
  'contract:4:provider-refusal': [
    START,
    'A refresh token the provider refuses is a definite refusal: auth_failed; a provider that is away is not.',
  ],
  'contract:17:provider-auth-field': [
    ['create_mailbox', 'update_mailbox'],
    'auth takes {type: oauth2, provider}; new hosts need it again, and then the authorization too.',
  ],
  'contract:17:provider-authorization': [
    START,
    'POST …/provider-authorization answers authorize_url and expires_at; a provider without settings is refused by their names.',
  ],
  'contract:17:provider-withdrawal': [
    END,
    'DELETE …/provider-authorization revokes at the provider, erases the tokens and answers 204.',
  ],
  'contract:18:provider-page': [
    START,
    'The callback shows a page naming organisation, mailbox and requester; only its POST finishes, and once.',
  ],
  'contract:18:provider-account': [START, "The provider's account address must equal the mailbox's email."],
  'contract:18:provider-egress': [
    START,
    'OAuth goes to the issuers that settings name and to public HTTPS servers, to the address that was checked, without redirects.',
  ],
} as const satisfies RequirementTable;
