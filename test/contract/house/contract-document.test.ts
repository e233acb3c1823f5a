import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { capabilities } from '../../../read-api/capabilities.ts';
import { ERROR_TABLE } from '../../../commands/values/errors.ts';
import { ORG_SCOPES, MAILBOX_SCOPES } from '../../../commands/values/scopes.ts';

const contract = readFileSync('docs/contract.md', 'utf8');

/** The text below the heading `## <number>.`. */
const section = (number: number): string =>
  new RegExp(String.raw`^## ${String(number)}\. [^]*?(?=^## |$(?![^]))`, 'm').exec(contract)?.[0] ?? '';

const inCode = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

describe('docs/contract.md', () => {
  it('lists every error code with its status', () => {
    const rows = [...section(13).matchAll(/^\| (\d{3}[\d, ]*?) *\| (.*) \|$/gm)];
    const listed = rows.flatMap(([, statuses = '', codes = '']) =>
      inCode(codes).map((code) => [code, statuses.split(', ').map(Number)] as const),
    );
    expect(listed.map(([code]) => code)).to.have.members(Object.keys(ERROR_TABLE));
    for (const [code, statuses] of listed)
      expect(statuses, code).to.include(ERROR_TABLE[code as keyof typeof ERROR_TABLE].status);
  });

  it('lists every scope', () => {
    const listed = (title: string): readonly string[] =>
      inCode(new RegExp(String.raw`^\*\*${title}:\*\*[^]*?\n\n`, 'm').exec(section(3))?.[0] ?? '');
    expect(listed('Mailbox scopes')).to.have.members(MAILBOX_SCOPES);
    expect(listed('Organisation scopes')).to.have.members(ORG_SCOPES);
  });

  it('names the last segment of every route', () => {
    const segments = capabilities.flatMap(
      ({ rest }) => rest?.path.split('/').findLast((part) => !part.startsWith(':')) ?? [],
    );
    const text = `${section(17)}${section(18)}`;
    expect(segments.filter((segment) => !text.includes(segment))).to.deep.equal([]);
  });

  it('lists the tools', () => {
    const tools = capabilities.filter(({ tool }) => tool !== null).map(({ name }) => name);
    expect(tools.filter((name) => !section(16).includes(`\`${name}\``))).to.deep.equal([]);
  });
});
