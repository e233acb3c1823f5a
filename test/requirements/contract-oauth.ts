import type { RequirementTable } from './requirement.ts';

/** The authorization server for MCP clients: sections 17, 18 and 20. */
export const contractOAuth = {
  'contract:17:oauth-clients': [
    ['create_oauth_client', 'get_oauth_client', 'update_oauth_client', 'delete_oauth_client'],
    'An owner with a fresh password registers applications; a secret is shown once.',
  ],
  'contract:18:oauth-discovery': [
    'transport',
    'RFC 9728 and RFC 8414 metadata, found from the 401 of /mcp; registration is off unless OAUTH_DCR=on.',
  ],
  'contract:18:oauth-tokens': [
    'transport',
    'Codes need PKCE S256; access tokens last 10 minutes at most; refresh tokens are rotated with a grace of 30 s.',
  ],
  'contract:20:oauth-cookies': [
    'transport',
    'The only cookies are those of the interaction: HttpOnly, SameSite=Lax, below /oauth.',
  ],
  'contract:18:oauth-consent': [
    ['read_authorization_request', 'decide_authorization_request'],
    'A person sees who asks, for what and where the answer goes; only the POST of the decision decides, once.',
  ],
  'contract:20:oauth-grant-scopes': [
    'decide_authorization_request',
    'A grant holds mailbox scopes, mailboxes:read and approvals:read only, of what was asked for and the person holds.',
  ],
  'contract:20:oauth-own-grants': [
    ['list_connected_applications', 'get_connected_application', 'disconnect_application'],
    'People list and end their own grants without org:manage; owners those of everybody.',
  ],
  'contract:20:oauth-client-rule': [
    'update_organisation',
    'PATCH /org {oauth_clients}: any application, only approved ones, or only those the organisation registered.',
  ],
} as const satisfies RequirementTable;
