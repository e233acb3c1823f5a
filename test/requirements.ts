/**
 * Every rule of `docs/contract.md` that a test has to prove. An owner is the name of a capability, whose rules count once
 * it is registered, or `transport` or `kernel`, whose rules always count. Tests cite ids by `verifies`.
 */
import { contractApprovals } from './requirements/contract-approvals.ts';
import { contractCallers } from './requirements/contract-callers.ts';
import { contractConsole } from './requirements/contract-console.ts';
import { contractDrafts } from './requirements/contract-drafts.ts';
import { contractHolds } from './requirements/contract-holds.ts';
import { contractHttp } from './requirements/contract-http.ts';
import { contractEventStore } from './requirements/contract-event-store.ts';
import { contractMail } from './requirements/contract-mail.ts';
import { contractOAuth } from './requirements/contract-oauth.ts';
import { contractOrganisation } from './requirements/contract-organisation.ts';
import { contractPeople } from './requirements/contract-people.ts';
import { contractPolicy } from './requirements/contract-policy.ts';
import { contractWaiting } from './requirements/contract-waiting.ts';
import { contractProviders } from './requirements/contract-providers.ts';
import { contractSync } from './requirements/contract-sync.ts';
import { contractSending } from './requirements/contract-sending.ts';
import { contractSignIn } from './requirements/contract-sign-in.ts';
import { contractSurfaces } from './requirements/contract-surfaces.ts';
import { contractRoutes } from './requirements/contract-routes.ts';
import { contractBasics } from './requirements/contract-basics.ts';
import { contractWebhooks } from './requirements/contract-webhooks.ts';
import type { Requirement } from './requirements/requirement.ts';

const table = {
  ...contractBasics,
  ...contractRoutes,
  ...contractApprovals,
  ...contractCallers,
  ...contractConsole,
  ...contractDrafts,
  ...contractHolds,
  ...contractHttp,
  ...contractEventStore,
  ...contractMail,
  ...contractOAuth,
  ...contractOrganisation,
  ...contractPeople,
  ...contractPolicy,
  ...contractWaiting,
  ...contractProviders,
  ...contractSync,
  ...contractSending,
  ...contractSignIn,
  ...contractSurfaces,
  ...contractWebhooks,
} as const;

export type RequirementId = keyof typeof table;

export const REQUIREMENTS: ReadonlyMap<string, Requirement> = new Map(Object.entries<Requirement>(table));
