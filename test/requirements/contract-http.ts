import type { RequirementTable } from './requirement.ts';

/** The edge of HTTP: where requests come from, what they may hold, what answers say. Sections 0, 13, 15, 17 and 20. */
export const contractHttp = {
  'contract:15:monotonic': [
    'transport',
    'Rates, pauses and time-outs run on a monotonic clock: a wall clock that is set back locks no caller out.',
  ],

  'contract:20:trusted-proxies': [
    'transport',
    "Behind TRUSTED_PROXIES the right-most untrusted address of Forwarded or X-Forwarded-For is the client's, in audit, logs and limits.",
  ],
  'contract:15:public-bodies': [
    'transport',
    'Without a token a body has at most 16 KiB; a refusal of an unknown caller closes the connection of an unread body.',
  ],
  'contract:15:max-connections': ['transport', 'No more than MAX_CONNECTIONS are open at once.'],
  'contract:13:node-refusals': [
    'transport',
    'What the HTTP parser refuses has a Request-Id and the error body, as every refusal has.',
  ],
  'contract:13:invalid-token': ['transport', '401 for a bad bearer says error="invalid_token".'],
  'contract:0:query': [
    'transport',
    'Under /api/v1 query parameters are those declared, others are 400; no body field is ever read from the query.',
  ],
  'contract:20:health': ['transport', 'Health names the parts that are wrong, and no position of the log.'],
  'contract:13:sentences': [
    'kernel',
    'What is wrong with input is described in the gateway’s sentences on both surfaces: what it must be, and which fields are known.',
  ],
  'contract:13:lacking-scopes': [
    'kernel',
    '403 names only the scopes this operation lacks, all of them or any of them.',
  ],
  'contract:17:openapi-complete': [
    'transport',
    'The OpenAPI document has required headers, every status met, and open response objects.',
  ],
  'contract:17:openapi-shared': [
    'transport',
    'The OpenAPI document says a schema that several operations share once, under its own name.',
  ],
  'contract:20:no-space': [
    'transport',
    'No space left: 503 store_unavailable that says so at once, not ready, a line of level error and a metric; over by itself.',
  ],
  'contract:20:metrics-host': [
    'transport',
    'METRICS_HOST says where the metrics are; by default the loopback.',
  ],
  'contract:20:metrics': [
    'transport',
    'Metrics tell approvals that wait or ran out, unknown operations, sends tried again, connections and free disk.',
  ],
  'contract:20:no-gateway': [
    'kernel',
    'A command on a folder that holds no gateway says so and writes nothing; only a start and a bootstrap make one.',
  ],
  'contract:20:bootstrap-link': [
    'kernel',
    'A bootstrap without a password prints the link with which the owner sets one and signs in.',
  ],
  'contract:20:access-log': [
    'transport',
    'A line of the access log names token, principal, organisation, user agent and the bytes of the answer.',
  ],
} as const satisfies RequirementTable;
