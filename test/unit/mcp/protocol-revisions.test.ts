import { expect } from 'chai';
import {
  negotiateRevision,
  PROTOCOL_REVISION_NAMES,
  PROTOCOL_REVISIONS,
  revisionNamed,
} from '../../../mcp/protocol-revisions.ts';

describe('protocol revisions', () => {
  it('are the three of the interface, newest first', () => {
    expect(PROTOCOL_REVISION_NAMES).to.deep.equal(['2025-11-25', '2025-06-18', '2025-03-26']);
  });

  it('settle on the revision asked for', () => {
    for (const name of PROTOCOL_REVISION_NAMES) expect(negotiateRevision(name).name).to.equal(name);
  });

  it('settle on the newest for any other', () => {
    for (const name of ['2024-11-05', '2026-07-28', 'x']) {
      expect(negotiateRevision(name).name).to.equal('2025-11-25');
      expect(revisionNamed(name)).to.equal(null);
    }
  });

  it('allow batches and a missing version header only in 2025-03-26', () => {
    const old = PROTOCOL_REVISIONS.filter((revision) => revision.batches || !revision.versionHeaderRequired);
    expect(old.map(({ name }) => name)).to.deep.equal(['2025-03-26']);
  });

  it('cannot be changed', () => {
    for (const revision of PROTOCOL_REVISIONS) expect(Object.isFrozen(revision)).to.equal(true);
  });
});
