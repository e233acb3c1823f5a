import { join } from 'node:path';
import { expect } from 'chai';
import { isMailboxScope, MAILBOX_SCOPES, PRESETS as OF_GATEWAY } from '../../../../commands/values/scopes.ts';

interface Presets {
  readonly PRESETS: readonly { readonly value: string; readonly scopes: readonly string[] }[];
  readonly EVERYTHING: readonly string[];
  presetOf(scopes: readonly string[]): { readonly value: string } | null;
}

describe('presets in the console', () => {
  let presets: Presets;
  before(async () => {
    const file = join(import.meta.dirname, '../../../../infra/console/token-presets.js');
    presets = (await import(file)) as Presets;
  });

  it('offers those on mailboxes with the scopes of the gateway', () => {
    const { auditor: _, ...ofMailboxes } = OF_GATEWAY;
    expect(presets.PRESETS.map(({ value, scopes }) => [value, scopes.toSorted()])).to.deep.equal(
      Object.entries(ofMailboxes).map(([name, all]) => [name, all.filter(isMailboxScope).toSorted()]),
    );
  });

  it('knows every scope on a mailbox', () => {
    expect(presets.EVERYTHING.toSorted()).to.deep.equal([...MAILBOX_SCOPES].toSorted());
  });

  it('names what a token or a grant holds, and nothing that almost fits', () => {
    for (const [name, scopes] of Object.entries(OF_GATEWAY)) {
      if (name !== 'auditor') expect(presets.presetOf(scopes)?.value).to.equal(name);
    }
    expect(presets.presetOf(['messages:read'])).to.equal(null);
    expect(presets.presetOf([...OF_GATEWAY.reader, 'messages:raw'])).to.equal(null);
  });
});
