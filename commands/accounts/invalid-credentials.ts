/** The one refusal of whoever cannot show to be whom they say: it tells nobody which accounts exist (`contract.md` 18). */
import { GatewayError } from '../values/errors.ts';

export const invalidCredentials = (): GatewayError =>
  new GatewayError('invalid_credentials', 'E-mail address or password is wrong.');

export const invalidLink = (): GatewayError =>
  new GatewayError(
    'invalid_credentials',
    'This link was used already, has expired, or never was one; ask for another.',
  );

/** Within a session everybody knows whose password it is. */
export const wrongPassword = (): GatewayError =>
  new GatewayError('invalid_credentials', 'The password is wrong.');
