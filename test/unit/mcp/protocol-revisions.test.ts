import { expect } from 'chai';
import {
  negotiateRevision,
  PROTOCOL_REVISION_NAMES,
  PROTOCOL_REVISIONS,
  revisionNamed,
  SESSIONLESS_REVISION,
  supportedRevisions,
} from '../../../mcp/protocol-revisions.ts';

describe('negotiateRevision', () => {
  it('supports the three revisions of the interface, newest first', () => {
    expect(PROTOCOL_REVISION_NAMES).to.deep.equal(['2025-11-25', '2025-06-18', '2025-03-26']);
  });

  it('chooses the requested revision', () => {
    for (const name of PROTOCOL_REVISION_NAMES) expect(negotiateRevision(name).name).to.equal(name);
  });

  it('chooses the newest when the request names another', () => {
    for (const name of ['2024-11-05', '2026-07-28', 'x']) {
      expect(negotiateRevision(name).name).to.equal('2025-11-25');
      expect(revisionNamed(name)).to.equal(null);
    }
  });

  it('allows batches and a missing version header only in 2025-03-26', () => {
    const old = PROTOCOL_REVISIONS.filter((revision) => revision.batches || !revision.versionHeaderRequired);
    expect(old.map(({ name }) => name)).to.deep.equal(['2025-03-26']);
  });

  it('uses frozen revisions', () => {
    for (const revision of [...PROTOCOL_REVISIONS, SESSIONLESS_REVISION])
      expect(Object.isFrozen(revision)).to.equal(true);
  });
});

describe('supportedRevisions', () => {
  it('begins with the revision without sessions where it is on', () => {
    expect(supportedRevisions({ sessionless: false })).to.deep.equal(PROTOCOL_REVISION_NAMES);
    expect(supportedRevisions({ sessionless: true })).to.deep.equal([
      '2026-07-28',
      ...PROTOCOL_REVISION_NAMES,
    ]);
  });
});
