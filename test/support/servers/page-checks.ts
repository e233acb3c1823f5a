/** Checks of a page without a person: accessible names, painted contrast, room on a narrow screen. */
import type { Page } from 'playwright-core';

interface AxText {
  readonly value?: string;
}

interface AxNode {
  readonly nodeId: string;
  readonly childIds?: readonly string[] | undefined;
  readonly ignored: boolean;
  readonly role?: AxText | undefined;
  readonly name?: AxText | undefined;
}

const CONTROLS = new Set(['button', 'link', 'textbox', 'combobox', 'checkbox', 'tab', 'Iframe']);

/** In reading order. */
async function axNodes(page: Page): Promise<readonly AxNode[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes }: { nodes: readonly AxNode[] } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const inOrder = (node: AxNode): readonly AxNode[] => [
    node,
    ...(node.childIds ?? []).flatMap((id) => [byId.get(id) ?? []].flat().flatMap(inOrder)),
  ];
  return nodes
    .slice(0, 1)
    .flatMap(inOrder)
    .filter(({ ignored }) => !ignored);
}

/** Controls without an accessible name; their roles. */
export async function namelessControls(page: Page): Promise<readonly string[]> {
  const nodes = await axNodes(page);
  return nodes.flatMap(({ role, name }) =>
    role?.value !== undefined && CONTROLS.has(role.value) && (name?.value ?? '').trim() === ''
      ? [role.value]
      : [],
  );
}

/** Landmarks and headings in order, as `banner`, `main`, `heading: Approvals`. */
export async function outline(page: Page): Promise<readonly string[]> {
  const nodes = await axNodes(page);
  const shown = new Set(['banner', 'main', 'navigation', 'complementary', 'heading', 'dialog']);
  return nodes.flatMap(({ role, name }) => {
    if (role?.value === undefined || !shown.has(role.value)) return [];
    return [role.value === 'heading' ? `heading: ${name?.value ?? ''}` : role.value];
  });
}

/** Texts whose painted colour is too close to its background (WCAG 2.2, 1.4.3: 4.5, large text 3). */
export async function lowContrasts(page: Page): Promise<readonly string[]> {
  return await page.evaluate<readonly string[]>(MEASURE_CONTRAST);
}

/** Runs in the page. Backgrounds are opaque, or above one that is. */
const MEASURE_CONTRAST = `(() => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  const groundOf = (element) => {
    const own = parse(getComputedStyle(element).backgroundColor);
    if (own[3] === 1) return own;
    return over(own, element.parentElement ? groundOf(element.parentElement) : [255, 255, 255, 1]);
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === '' || !element.checkVisibility() || element.closest('.unseen, :disabled')) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(element);
    const ground = groundOf(element);
    const size = parseFloat(fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700) ? 3 : 4.5;
    const is = ratio(over(parse(color), ground), ground);
    if (is < least) found.push(node.data.trim() + ': ' + is.toFixed(2));
  }
  return found;
})()`;

/** Controls of the page that the Tab key does not reach, by their names; of radio buttons only the checked one is a stop. */
export async function unreachedByTab(page: Page): Promise<readonly string[]> {
  const controls = Number(await page.evaluate(`${STOPS}.length`));
  await page.evaluate('document.activeElement.blur()');
  // One more for the browser's own stop at the end of the page.
  for (let presses = 0; presses <= controls + 1; presses += 1) {
    await page.keyboard.press('Tab');
    await page.evaluate('document.activeElement.toggleAttribute("data-reached", true)');
  }
  return await page.evaluate<readonly string[]>(
    `${STOPS}.filter((each) => !each.hasAttribute('data-reached')).map((each) => each.outerHTML)`,
  );
}

const STOPS = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter((each) => each.checkVisibility() && !each.disabled && each.type !== 'hidden' && each.tabIndex >= 0)
  .filter((each) => each.type !== 'radio' || each.checked)`;
