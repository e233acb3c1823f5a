/** A user agent in words: browser and system, without versions, for people to recognise. */

type Family = readonly [name: string, pattern: RegExp];

/** In this order: most browsers also claim to be the ones after them. */
const BROWSERS: readonly Family[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\b(?:OPR|Opera|OPiOS)\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|Chromium|CriOS|HeadlessChrome)\//],
  ['Safari', /\bVersion\/[\d.]+.*\bSafari\//],
];

const SYSTEMS: readonly Family[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
];

/** The program that names itself first, as `curl/8.5.0` does. */
const PROGRAM = /^([A-Za-z][\w.-]{0,29})(?:\/|$)/;

const MOST_READ = 256;

/** Never empty; a text that names nothing known is "an unknown program". */
export function deviceInWords(userAgent: string | null): string {
  const text = (userAgent ?? '').slice(0, MOST_READ);
  const system = nameOf(SYSTEMS, text);
  const program = nameOf(BROWSERS, text) ?? programOf(text) ?? 'an unknown program';
  return system === null ? program : `${program} on ${system}`;
}

const nameOf = (families: readonly Family[], text: string): string | null =>
  families.find(([, pattern]) => pattern.test(text))?.[0] ?? null;

function programOf(text: string): string | null {
  const name = PROGRAM.exec(text)?.[1];
  return name === undefined || name === 'Mozilla' ? null : name;
}
