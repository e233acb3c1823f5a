/** A real Chromium for one test file: pages report their errors and the foreign addresses they request. */
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type ConsoleMessage,
  type Locator,
  type Page,
} from 'playwright-core';
import { ensureChromium } from './ensure-chromium.ts';

/** Nothing besides the pages of the tests: no vendor services, no sandbox, which root cannot have. */
const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-default-apps',
]; // prettier-ignore
const WITHIN_MS = 30_000;
const PAUSE_MS = 200;
/** A refused call is a normal answer, but Chromium logs a line for it. */
const REFUSED_CALL = /^Failed to load resource: the server responded with a status of [45]\d\d/;

/** One person's browser, with its own cookies, storage and pages. */
export class BrowserPerson {
  readonly page: Page;
  /** Errors of scripts, of the policy (CSP, Trusted Types) and of loading, as the browser reports them. */
  readonly errors: string[] = [];
  /** Requested addresses outside the given origin. */
  readonly foreignRequests: string[] = [];
  readonly context: BrowserContext;

  constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context;
    this.page = page;
    page.on('pageerror', (error) => this.errors.push(String(error)));
    page.on('console', (message) => {
      this.#note(message);
    });
    context.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(url)) this.foreignRequests.push(url);
    });
  }

  #note(message: ConsoleMessage): void {
    const isBad = message.type() === 'error' || message.type() === 'warning';
    if (isBad && !REFUSED_CALL.test(message.text())) this.errors.push(message.text());
  }
}

export class TestBrowser {
  readonly #browser: Browser;

  constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** A new person at `origin`; every wait in the page ends after eight seconds. */
  async newPerson(origin: string, options: BrowserContextOptions = {}): Promise<BrowserPerson> {
    const context = await this.#browser.newContext(options);
    context.setDefaultTimeout(WITHIN_MS);
    return new BrowserPerson(context, await context.newPage(), origin);
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

/** Until this holds, the page reads again as when it becomes visible, instead of every four seconds; at most half a minute. */
export async function readUntil(page: Page, holds: () => Promise<boolean>): Promise<void> {
  for (let left = WITHIN_MS; left > 0 && !(await holds()); left -= PAUSE_MS) {
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.waitForTimeout(PAUSE_MS);
  }
}

/** Waits for what a page shows once it has read again. */
export async function shownSoon(locator: Locator): Promise<void> {
  const first = locator.first();
  await readUntil(locator.page(), () => first.isVisible());
  await first.waitFor();
}

/** Starts a browser; skips the calling suite without one. In CI `ensureChromium` has already thrown. */
export async function requireBrowser(context: Mocha.Context): Promise<TestBrowser> {
  const executablePath = await ensureChromium();
  if (executablePath === null) return context.skip();
  return new TestBrowser(await chromium.launch({ executablePath, args: ARGUMENTS }));
}
