import { expect } from 'chai';
import { auditExport, type ExportTerms, recordExport } from '../../../../commands/audit/export-events.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { STEP_UP_MS } from '../../../../commands/kernel/live-caller.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { sealedApproval } from '../../../../read-api/approvals/evidence/make-evidence.ts';
import { sealCheckpoint } from '../../../../read-api/audit/checkpoint-routes.ts';
import { exportAudit, headersOf } from '../../../../read-api/audit/export-audit.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { PeopleRig } from '../../../support/worlds/people-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const codeOf = (error: unknown): unknown => (error as GatewayError).code;

describe('a new export', () => {
  let rig: PeopleRig;
  let userId: string;

  beforeEach(async () => {
    rig = await PeopleRig.start();
    userId = await rig.join('auditor');
  });

  it(`waits for the newest lines, or for those it names ${verifies('contract:12:export')}`, async () => {
    const waited: unknown[] = [];
    const readModels = {
      waitFor: (position: unknown) => {
        waited.push(position);
        return Promise.resolve(false);
      },
    };
    const begin = (input: object): Promise<unknown> =>
      rig.act(userId, exportAudit, input, { ...rig.ports, readModels }).catch(String);
    expect(await begin({})).to.match(/newest lines are not there/);
    expect(new Set(waited)).to.deep.equal(new Set([await rig.ports.events.headPosition()]));
    waited.length = 0;
    expect(await begin({ to_seq: 1 })).not.to.match(/newest lines are not there/);
    expect(waited).to.deep.equal([]);
  });

  it(`names its next part with the last line and the reason ${verifies('contract:12:csv')}`, () => {
    const input = { format: 'csv', disclose: 'all', reason: 'a court order', from_seq: 1 } as const;
    const { Link: link = '' } = headersOf({ next: { from: 501, to: 900 } }, input);
    const [, query] = /^<\/api\/v1\/audit\/export\?(.*)>; rel="next"$/.exec(link) ?? [];
    const named = { ...input, from_seq: '501', to_seq: '900' };
    expect(Object.fromEntries(new URLSearchParams(query))).to.deep.equal(named);
  });

  it(`opens every text again only with a fresh password ${verifies('contract:12:export-resume')}`, async () => {
    const { orgId, ports, gateway } = rig;
    const token = await gateway.signIn();
    const exportId = ports.ids.newId('aex');
    const terms: ExportTerms = {
      ...{ trail: orgId, epoch: 1, size: 1, from_seq: 1, to_seq: 1, filter: null, from: null, to: null },
      ...{ format: 'jsonl', mode: 'complete', disclose: 'all', version: 'of other rights' },
    };
    const actor = { type: 'person', id: gateway.org.userId, token_id: null, session_id: token } as const;
    await decideAndAppend(ports, { ...systemAuthor(ports, orgId), actor }, auditExport, {
      id: exportId,
      decide: () => recordExport(terms, null),
    });
    gateway.sql.rows.set('vault.personal_key', [{ count: '0' }]);
    const resumed = (): Promise<unknown> =>
      gateway.call(exportAudit, { export_id: exportId }, { token }).catch(codeOf);
    expect(await resumed()).to.equal('version_conflict');
    gateway.clock.advance(STEP_UP_MS);
    expect(await resumed()).to.equal('step_up_required');
  });

  describe('that needs a new checkpoint', () => {
    const tooMany = new GatewayError('rate_limited', 'Too many.', { retryAfterSeconds: 30 });
    const full = { attempt: () => Promise.reject(tooMany) };
    const sealed = (isSealed: boolean, asked: string[]) => ({
      ...rig.ports.seals,
      isSealed: (trail: string) => Promise.resolve(asked.push(trail) > 0 && isSealed),
    });

    beforeEach(() => {
      for (const table of ['read.audit', 'vault.audit_signed']) rig.gateway.sql.rows.set(table, []);
    });

    it(`is counted like a checkpoint that is asked for, and no other is ${verifies('contract:17:audit-checkpoints')}`, async () => {
      const begin = (isSealed: boolean, asked: string[]): Promise<unknown> => {
        const ports = { ...rig.ports, attempts: full, seals: sealed(isSealed, asked) };
        return rig.act(userId, exportAudit, {}, ports).catch((error: unknown) => error);
      };
      const asked: string[] = [];
      expect(await begin(false, asked)).to.equal(tooMany);
      expect(await begin(true, asked)).not.to.equal(tooMany);
      expect(asked).to.deep.equal([rig.orgId, rig.orgId]);
    });

    it(`is counted with its organisation as POST counts it ${verifies('contract:17:audit-checkpoints')}`, async () => {
      const counted: unknown[] = [];
      const attempt = (on: unknown) => {
        counted.push(on);
        return Promise.reject(tooMany);
      };
      const ports = { ...rig.ports, attempts: { attempt }, seals: sealed(false, []) };
      for (const capability of [exportAudit, sealCheckpoint])
        expect(await rejection(rig.act(userId, capability, {}, ports))).to.equal(tooMany);
      const approval = { approvalId: 'chk_1', operationId: 'opn_1', state: { approval: null } } as never;
      expect(await rejection(sealedApproval(ports, approval, rig.orgId))).to.equal(tooMany);
      expect(counted).to.have.length(3);
      expect(new Set(counted.map((on) => JSON.stringify(on))).size).to.equal(1);
    });
  });
});
