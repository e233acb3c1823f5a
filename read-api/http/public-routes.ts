/** Every route of `/api/v1` that needs no bearer (`contract.md` 18). */
import { resetPassword } from '../../commands/accounts/change-password.ts';
import { readPasswordLink } from '../../commands/accounts/read-password-link.ts';
import { signIn } from '../../commands/accounts/sign-in.ts';
import type { AnyPublicRoute } from '../../commands/kernel/public-route.ts';
import { setUpOrganisation } from '../../commands/organisation/set-up-organisation.ts';
import { getOpenapi } from './get-openapi.ts';

export const publicRoutes: readonly AnyPublicRoute[] = [
  getOpenapi,
  setUpOrganisation,
  signIn,
  readPasswordLink,
  resetPassword,
];
