/** A person's browser at a provider, without a screen: cookies, redirects, the sign-in and the consent. */
export class ProviderBrowser {
  readonly #cookies = new Map<string, string>();

  /**
   * Signs in as `login`, agrees or not, and stops at the provider's redirect: the callback's address, not
   * opened yet. Throws after too many steps.
   */
  async signIn(authorizeUrl: string, login: string, agrees = true): Promise<URL> {
    const callback = new URL(authorizeUrl).searchParams.get('redirect_uri') ?? '';
    let step: Step = { url: authorizeUrl, body: null };
    for (let taken = 0; taken < MOST_STEPS; taken += 1) {
      const response = await this.#open(step.url, step.body);
      const location = response.headers.get('location');
      const url = location === null ? null : new URL(location, step.url);
      if (url?.href.startsWith(callback) === true) return url;
      step = url
        ? { url: url.href, body: null }
        : filledIn(await response.text(), step.url, { login, agrees });
    }
    throw new Error('the provider never led back');
  }

  async #open(url: string, body: URLSearchParams | null): Promise<Response> {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(body && { method: 'POST', body }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      this.#cookies.set(name, value);
    }
    return response;
  }
}

interface Step {
  readonly url: string;
  readonly body: URLSearchParams | null;
}

const MOST_STEPS = 15;

/** The filled-in sign-in or consent form of a page; the cancel link of a consent that is not given. */
function filledIn(page: string, at: string, person: { login: string; agrees: boolean }): Step {
  const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
  const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
  if (prompt === undefined || action === undefined) throw new Error(`no form but ${page.slice(0, 500)}`);
  const abort = /href="([^"]+\/abort)"/.exec(page)?.[1];
  if (prompt === 'consent' && !person.agrees) return { url: new URL(abort ?? '', at).href, body: null };
  const body = new URLSearchParams({ prompt, login: person.login, password: 'any' });
  return { url: new URL(action, at).href, body };
}
