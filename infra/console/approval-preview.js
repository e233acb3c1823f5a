/** The preview that the server rendered: as a page, as plain text, and the manifest itself. */
import { changesSection } from './approval-changes.js';
import { h } from './dom.js';
import { foreignLines } from './foreign-text.js';
import { sandboxed } from './preview-frame.js';
import { tabs } from './tabs.js';

/** @import { Approval, Preview } from './payloads.d.ts' */

/**
 * @param {Approval} approval
 * @param {Preview | null} preview
 */
export function previewSection(approval, preview) {
  if (preview === null) return null;
  const isOther = preview.content_hash !== approval.content_hash;
  return [
    preview.previous ? changesSection(preview.previous) : null,
    h(
      'section',
      { class: 'card', 'aria-labelledby': 'preview' },
      h('h2', { id: 'preview', tabindex: -1 }, 'Preview'),
      isOther
        ? h(
            'p',
            { class: 'notice bad' },
            'This preview belongs to other content than the approval. Reload the page.',
          )
        : null,
      tabs('Preview as', [
        {
          id: 'page',
          label: 'Page',
          content: () =>
            sandboxed(preview.html, {
              title: 'Preview of what would happen',
              lines: preview.text.split('\n').length,
            }),
        },
        {
          id: 'text',
          label: 'Plain text',
          content: () => h('div', { class: 'lines' }, foreignLines(preview.text)),
        },
        {
          id: 'manifest',
          label: 'Manifest',
          content: () => [
            h(
              'p',
              { class: 'quiet small' },
              'Exactly what runs. The hash beside the decision is that of its canonical form (RFC 8785).',
            ),
            h(
              'div',
              { class: 'lines code', tabindex: 0, role: 'region', 'aria-label': 'Manifest' },
              foreignLines(JSON.stringify(preview.manifest, null, 2)),
            ),
          ],
        },
      ]),
    ),
  ];
}
