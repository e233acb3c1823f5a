import type { RequirementTable } from './requirement.ts';

/** The edge of HTTP: where requests come from, what they may hold, what answers say. Sections 13, 15 and 20. */
export const contractHttp = {
  'contract:15:monotonic': [
    'transport',
    'Rates, pauses and time-outs run on a monotonic clock: one that is set back locks nobody out.',
  ],

  'contract:20:trusted-proxies': [
    'transport',
    "Behind TRUSTED_PROXIES the right-most untrusted address of Forwarded or X-Forwarded-For is the client's, in audit, logs and limits.",
  ],
  'contract:20:access-log': [
    'transport',
    'A line of the access log names token, principal, organisation, user agent and the bytes of the answer.',
  ],
} as const satisfies RequirementTable;
