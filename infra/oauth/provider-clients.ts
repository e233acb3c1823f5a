/** The providers this gateway is registered at, by its settings. */
import { GatewayError } from '../../commands/values/errors.ts';
import {
  type MailProvider,
  PROVIDER_CALLBACK_PATH,
  PROVIDER_NAMES,
} from '../../commands/ports/mail-logins.ts';
import type { Clock } from '../../commands/ports/ports.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { createOAuthGuard } from './oauth-egress.ts';
import { ProviderClient } from './provider-client.ts';
import { type OAuthSettings, PROVIDERS } from './providers.ts';

export interface ProviderClients {
  /** Throws `operation_unsupported` naming the settings that are missing. */
  of(provider: MailProvider): ProviderClient;
}

/** Clients are made once and asked for their metadata when they are used first. */
export function createProviderClients(
  settings: OAuthSettings,
  { baseUrl, clock }: { readonly baseUrl: string; readonly clock: Clock },
): ProviderClients {
  const named = Object.values(settings).flatMap(({ issuer }) => (issuer === null ? [] : [new URL(issuer)]));
  const fetch = guardedFetch(createOAuthGuard(named));
  const clients = new Map<MailProvider, ProviderClient>();
  return {
    of: (provider) => {
      const { clientId, clientSecret, issuer } = settings[provider];
      if (clientId === null || clientSecret === null) throw notRegistered(provider, clientId === null);
      const known = clients.get(provider);
      if (known) return known;
      const client = new ProviderClient({
        provider,
        clientId,
        clientSecret,
        issuer: new URL(issuer ?? PROVIDERS[provider].issuer),
        redirectUri: `${baseUrl}${PROVIDER_CALLBACK_PATH}`,
        fetch,
        clock,
      });
      clients.set(provider, client);
      return client;
    },
  };
}

function notRegistered(provider: MailProvider, withoutId: boolean): GatewayError {
  const missing = `OAUTH_${provider.toUpperCase()}_CLIENT_${withoutId ? 'ID' : 'SECRET'}`;
  return new GatewayError(
    'operation_unsupported',
    `This gateway is not registered at ${PROVIDER_NAMES[provider]}: an operator has to set ${missing}.`,
    { details: { reason: 'setting_missing', setting: missing } },
  );
}
