/** A person in a browser without a pointing device. */
import type { Page } from 'playwright-core';

const NAME_OF_FOCUS = `(() => {
  const { activeElement: at } = document;
  return (at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent).trim();
})()`;
const MOST_TABS = 60;

export class Keyboard {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Presses Tab until a control with this name has the focus. */
  async to(name: string | RegExp): Promise<void> {
    const seen: string[] = [];
    for (let presses = 0; presses < MOST_TABS; presses += 1) {
      const focused: string = await this.page.evaluate(NAME_OF_FOCUS);
      if (typeof name === 'string' ? focused === name : name.test(focused)) return;
      seen.push(focused);
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`Tab never reached ${String(name)}, only ${seen.join(' | ')}`);
  }

  async press(name: string | RegExp): Promise<void> {
    await this.to(name);
    await this.page.keyboard.press('Enter');
  }

  /** Replaces the text of a field. */
  async fill(name: string | RegExp, text: string): Promise<void> {
    await this.to(name);
    await this.page.keyboard.press('ControlOrMeta+a');
    await this.page.keyboard.type(text);
  }

  /** Chooses the option of a select that begins with this text. */
  async choose(name: string, option: string): Promise<void> {
    await this.to(name);
    await this.page.keyboard.type(option);
  }
}
