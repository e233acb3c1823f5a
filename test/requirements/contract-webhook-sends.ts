import type { RequirementTable } from './requirement.ts';

/** How webhooks are sent: section 11, and what section 20 says of it. */
export const contractWebhookSends = {
  'contract:11:standard-webhooks': [
    'transport',
    'Deliveries are signed by Standard Webhooks, one signature for each live secret.',
  ],
  'contract:11:webhook-egress': [
    'transport',
    'Webhooks go to public addresses on 443, elsewhere only where EGRESS_ALLOW_WEBHOOKS opens it; redirects are not followed.',
  ],
} as const satisfies RequirementTable;
