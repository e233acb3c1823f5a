import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { describeSettings } from '../../infra/process/config-schema.ts';

const FILE = 'docs/settings.md';

/** The document as the schema of the environment tells it. */
function settingsDocument(): string {
  const rows = describeSettings().map(({ name, description, fallback, secret }) => {
    const alsoFile = secret === true ? ` Also from the file that \`${name}_FILE\` names.` : '';
    return `| \`${name}\` | ${description}${alsoFile} | ${fallback} |`;
  });
  return [
    '# Settings',
    '',
    'Settings are environment variables. Each invalid or misspelt one is reported in a sentence and stops the start.',
    '',
    '| Variable | Meaning | Default |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

describe('docs/settings.md', () => {
  it('lists the settings of the environment schema', async () => {
    if (process.env['GOLDEN'] === '1') await writeFile(FILE, settingsDocument());
    expect(await readFile(FILE, 'utf8')).to.equal(settingsDocument());
  });
});
