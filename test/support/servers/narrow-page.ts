/** Whether a page can be used on a telephone, in both colour schemes. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { lowContrasts, namelessControls } from './page-checks.ts';

const NARROW = { width: 360, height: 740 };
export const WIDE = { width: 1280, height: 900 };

/** At 360 px: contrast, names of controls, no scrolling sideways. Then wide again. */
export async function checkNarrow(page: Page): Promise<void> {
  await page.setViewportSize(NARROW);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect(await page.evaluate('document.documentElement.scrollWidth'), page.url()).to.equal(NARROW.width);
    expect(await namelessControls(page), page.url()).to.deep.equal([]);
    expect(await lowContrasts(page), page.url()).to.deep.equal([]);
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: null });
  await page.setViewportSize(WIDE);
}
