/** The page that verifies audit files, in a real browser: nothing leaves it. */
import { expect } from 'chai';
import type { JSHandle } from 'playwright-core';
import { altered } from '../support/audit/audit-case.ts';
import { fileOf, KEY, put, SampleTrail } from '../support/audit/sample-trail.ts';
import { requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { ConsoleStage } from '../support/worlds/console-stage.ts';

const WITHIN_MS = 20_000;

describe('verifying an audit file in the console', function () {
  this.timeout(60_000);
  let browser: TestBrowser;
  let stage: ConsoleStage;
  const requests: string[] = [];

  before(async function () {
    browser = await requireBrowser(this);
    stage = await ConsoleStage.start(browser, { signUp: 'invite', hasSystemMail: true });
    stage.person.context.on('request', (request) => requests.push(`${request.method()} ${request.url()}`));
  });
  after(async () => {
    await stage.close();
    await browser.close();
  });
  beforeEach(async () => {
    await stage.person.page.goto(`${stage.url}/console/verify`);
    await stage.person.page.getByRole('heading', { name: 'Verify an audit file' }).waitFor();
    requests.length = 0;
  });

  const verdict = async (text: RegExp): Promise<string> => {
    const place = stage.person.page.locator('#verdict', { hasText: text });
    await place.waitFor({ timeout: WITHIN_MS });
    return await place.innerText();
  };
  const choose = (buffer: Buffer): Promise<void> =>
    stage.person.page.setInputFiles('#file', {
      name: 'audit.jsonl',
      mimeType: 'application/x-ndjson',
      buffer,
    });
  const dropped = (texts: readonly string[]): Promise<JSHandle> =>
    stage.person.page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      for (const text of ${JSON.stringify(texts)}) transfer.items.add(new File([text], 'file'));
      return transfer;
    })()`);

  it('says that a good file is proven, and of what', async () => {
    await stage.person.page.fill('#keys', KEY.vkey);
    await choose(altered(() => undefined));
    const said = await verdict(/^PROVEN as asked/);
    expect(said).to.contain('the lines 1 to 7').and.to.contain('org_test').and.to.contain('NOT proven');
  });

  it('says where an altered file is not proven', async () => {
    await stage.person.page.fill('#keys', KEY.vkey);
    await choose(
      altered((records) => {
        put(records[3], 'line.seq', 9);
      }),
    );
    expect(await verdict(/NOT PROVEN/)).to.match(/record 4, at byte \d+: .*\(seq_mismatch\)/);
  });

  it('takes a file and its keys that are dropped on it', async () => {
    const file = fileOf(new SampleTrail().fill(300).records()).toString();
    await stage.person.page.locator('.drop').dispatchEvent('drop', { dataTransfer: await dropped([file]) });
    expect(await verdict(/LESS THAN ASKED/)).to.contain('no_key');
    await stage.person.page
      .locator('.drop')
      .dispatchEvent('drop', { dataTransfer: await dropped([KEY.vkey]) });
    expect(await verdict(/^PROVEN as asked/)).to.contain('over 300 lines');
  });

  it('sends nothing, and could not', async () => {
    await stage.person.page.fill('#keys', KEY.vkey);
    await choose(altered(() => undefined));
    await verdict(/PROVEN/);
    expect(requests).to.deep.equal([]);
    expect(stage.person.errors).to.deep.equal([]);
    const answer = await stage.person.page.evaluate(() =>
      fetch('/console').then(
        () => 'connected',
        () => 'refused',
      ),
    );
    expect(answer).to.equal('refused');
  });
});
