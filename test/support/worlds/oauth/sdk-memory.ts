/** What an application on an official SDK keeps of its connection; it serves version 1 and 2. */
import { REDIRECT } from './oauth-client.ts';

export interface KeptClient {
  readonly client_id: string;
  readonly client_secret?: string;
}

export interface KeptTokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string;
}

interface Traits {
  readonly metadataUrl?: string;
  readonly client?: KeptClient;
  readonly redirectUrl?: string;
}

export class SdkMemory {
  readonly redirectUrl: string;
  readonly clientMetadataUrl?: string;
  /** Where the SDK sent the browser last. */
  sentTo: URL | null = null;
  client: KeptClient | undefined;
  kept: KeptTokens | undefined;
  /** How often tokens were stored. */
  saves = 0;
  #verifier = '';

  constructor({ metadataUrl, client, redirectUrl = REDIRECT }: Traits = {}) {
    this.redirectUrl = redirectUrl;
    if (metadataUrl !== undefined) this.clientMetadataUrl = metadataUrl;
    this.client = client;
  }

  get clientMetadata() {
    return {
      client_name: 'Official tool',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  clientInformation(): KeptClient | undefined {
    return this.client;
  }

  saveClientInformation(client: KeptClient): void {
    this.client = client;
  }

  tokens(): KeptTokens | undefined {
    return this.kept;
  }

  saveTokens(tokens: KeptTokens): void {
    this.saves += 1;
    this.kept = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.sentTo = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  /** The access token is worth nothing from now on, as after its ten minutes. */
  spoilAccessToken(): void {
    if (this.kept) this.kept = { ...this.kept, access_token: `${this.kept.access_token}x` };
  }
}
