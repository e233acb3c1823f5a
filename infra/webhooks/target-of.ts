/** The URL of an endpoint, as far as it can be judged without a look-up (`contract.md` 11 and 18). */
import { GatewayError } from '../../commands/values/errors.ts';

export interface Target {
  readonly url: URL;
  readonly host: string;
  readonly port: number;
}

const HTTPS_PORT = 443;

const refused = (message: string): GatewayError =>
  new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'url', code: 'custom', message }] },
  });

/** Throws `invalid_request` for a URL that no endpoint may have. */
export function targetOf(text: string): Target {
  if (!URL.canParse(text)) throw refused('The URL of a webhook endpoint must be an absolute https URL.');
  const url = new URL(text);
  const isPlain = url.protocol === 'http:';
  if (!isPlain && url.protocol !== 'https:')
    throw refused('The URL of a webhook endpoint must begin with https://.');
  if (url.username !== '' || url.password !== '')
    throw refused(
      'The URL of a webhook endpoint must not have a user name or a password: the signature says who sends.',
    );
  const port = url.port === '' ? (isPlain ? 80 : HTTPS_PORT) : Number(url.port);
  // Every other port needs a rule of the operator, and with it plain HTTP is allowed.
  if (isPlain && port === HTTPS_PORT) throw refused('Port 443 is for https only.');
  return { url, host: url.hostname, port };
}
