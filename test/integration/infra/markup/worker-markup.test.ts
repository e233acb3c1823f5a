import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { MarkupRefused } from '../../../../commands/html/markup-refused.ts';
import { createMarkup, type MarkupLimits } from '../../../../infra/markup/worker-markup.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const LIMITS: MarkupLimits = { threads: 2, waiting: 100, jobMs: 2_000, heapMiB: 64, idleMs: 1_000 };

/** Keeps the parser of Markdown busy for much longer than any limit here. */
const SLOW = { format: 'markdown', source: '*a'.repeat(400_000) } as const;

describe('markup threads', function () {
  this.timeout(120_000);

  it(`keep the process responsive while hostile bodies are rendered ${verifies('contract:7:body-apart')}`, async () => {
    const markup = createMarkup(LIMITS);
    await markup.render({ format: 'markdown', source: 'warm' });
    const end = { isHere: false };
    const hostile = Promise.allSettled(Array.from({ length: 4 }, () => markup.render(SLOW))).finally(() => {
      end.isHere = true;
    });
    let turns = 0;
    while (!end.isHere) {
      await pause(5);
      turns += 1;
    }
    for (const { status } of await hostile) expect(status).to.equal('rejected');
    // Two after the other on each thread: four seconds, in which a held-up process would have had four turns.
    expect(turns).to.be.above(100);
  });

  it(`end a job that exceeds time or memory, and run the next ${verifies('contract:7:body-apart')}`, async () => {
    const slow = createMarkup({ ...LIMITS, threads: 1 });
    const error = await rejection(slow.render(SLOW));
    expect(error).to.be.instanceOf(MarkupRefused).and.to.include({ reason: 'too_costly' });
    expect((await slow.render({ format: 'markdown', source: '*a*' })).html).to.equal('<p><em>a</em></p>\n');
    const small = createMarkup({ ...LIMITS, threads: 1, heapMiB: 32, jobMs: 30_000 });
    const large = '<p>a'.repeat(240_000);
    expect(await rejection(small.render({ format: 'html', source: large }))).to.include({
      reason: 'too_costly',
    });
    expect((await small.render({ format: 'html', source: '<b>a</b>' })).text).to.equal('a');
  });

  it('omit received HTML that exceeds its time, and fail no page for it', async () => {
    const hurried = createMarkup({ ...LIMITS, threads: 1, jobMs: 1 });
    const read = await hurried.read('<p>a</p>'.repeat(60_000), 'markdown', {});
    expect(read).to.include({ content: '', isUnreadable: true });
  });

  it('refuse a job when too many are waiting', async () => {
    const narrow = createMarkup({ ...LIMITS, threads: 1, waiting: 1 });
    const job = () => narrow.show({ html: '<p>a</p>', text: 'a' });
    const [first, second, third] = await Promise.allSettled([job(), job(), job()]);
    expect([first.status, second.status]).to.deep.equal(['fulfilled', 'fulfilled']);
    expect(third).to.have.nested.property('reason.code', 'overloaded');
  });

  it('return the results of the process itself', async () => {
    const markup = createMarkup(LIMITS);
    const read = await markup.read('<p>Hi <img src="cid:a@b" alt="x"></p>', 'html', { 'a@b': 'att_1a' });
    expect(read.content).to.include('src="att_1a"');
    const { mail, text } = await markup.show({ html: '<p style="display:none">x</p>', text: 'y' });
    expect(mail).to.include({ hiddenChars: 1 });
    expect(text.text).to.equal('y');
  });
});
