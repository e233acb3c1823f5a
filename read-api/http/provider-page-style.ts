/** The style of the callback pages: light and dark, narrow and wide, with nothing loaded. */
import { createHash } from 'node:crypto';

/** Contrast in both schemes: text at least 4.5 (WCAG 2.2, 1.4.3), edges and focus ring 3 (1.4.11). */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f3f4f6; --card: #ffffff; --edge: #d5d9df; --text: #1b1f24; --quiet: #57606a;
  --accent: #0b57d0; --accent-hover: #0842a0; --on-accent: #ffffff; --good: #1a7f37; --bad: #9a3412;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1115; --card: #191c22; --edge: #343a44; --text: #e8eaed; --quiet: #a5adb8;
    --accent: #8ab4f8; --accent-hover: #aecbfa; --on-accent: #0a1a33; --good: #4ac26b; --bad: #ffa657;
  }
}
* { box-sizing: border-box }
body {
  margin: 0; min-height: 100vh; padding: 1.25rem; display: grid; place-items: center;
  font: 1rem/1.55 system-ui, sans-serif; color: var(--text); background: var(--ground);
}
main {
  width: 100%; max-width: 34rem; padding: 1.75rem 2rem 1.5rem; overflow-wrap: anywhere;
  background: var(--card); border: 1px solid var(--edge); border-top: .25rem solid var(--tone); border-radius: .75rem;
}
.ask { --tone: var(--accent) } .done { --tone: var(--good) } .refused { --tone: var(--bad) }
.product { margin: 0; font-size: .875rem; color: var(--quiet) }
h1 { margin: .25rem 0 1rem; font-size: 1.5rem; line-height: 1.25 }
p { margin: 0 0 1rem }
dl {
  display: grid; grid-template-columns: max-content 1fr; gap: .5rem 1.25rem; margin: 0 0 1.5rem;
  padding: 1rem 0; border: solid var(--edge); border-width: 1px 0;
}
dt, .note { color: var(--quiet) }
dd { margin: 0; font-weight: 500 }
button {
  width: 100%; padding: .8rem 1.25rem; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--on-accent); background: var(--accent); border: 1px solid transparent; border-radius: .5rem;
}
button:hover { background: var(--accent-hover) }
button:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px }
.note { margin: 1.25rem 0 0; font-size: .875rem }
@media (max-width: 26rem) {
  body { place-items: start; padding: .75rem }
  main { padding: 1.25rem }
  dl { grid-template-columns: 1fr; gap: 0 }
  dd + dt { margin-top: .6rem }
}
`;

/** The source that a `Content-Security-Policy` must name for the style to apply. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
