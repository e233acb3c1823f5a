import { expect } from 'chai';
import { signUp } from '../../../../commands/organisation/sign-up.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { startMemoryGateway, type MemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { Strangers } from '../../../support/worlds/strangers.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const INPUT = { email: 'sam@example.com', password: 'a long enough passphrase', name: 'Sam' };

describe('signUp', () => {
  let gateway: MemoryGateway;
  beforeEach(async () => {
    gateway = await startMemoryGateway();
  });

  const refusal = async (
    mode: 'closed' | 'invite' | 'open',
    more: { org_name?: string; invite_token?: string },
  ): Promise<string> => {
    const strangers = new Strangers(gateway, mode);
    const before = gateway.events.all.length;
    const error = await rejection(signUp.handle({ ...INPUT, ...more }, strangers.context()));
    if (!(error instanceof GatewayError)) throw error;
    expect(gateway.events.all.length).to.equal(before);
    const [issue] = (error.details['issues'] ?? []) as { path: string }[];
    return `${error.code} ${issue?.path ?? ''}`.trim();
  };

  it(`is allowed as SIGNUP says ${verifies('contract:17:sign-up')}`, async () => {
    expect(await refusal('closed', { org_name: 'Sam Ltd' })).to.equal('operation_unsupported');
    expect(await refusal('closed', { invite_token: 'x' })).to.equal('operation_unsupported');
    expect(await refusal('invite', { org_name: 'Sam Ltd' })).to.equal('invalid_request invite_token');
    expect(await refusal('invite', { invite_token: 'x', org_name: 'Sam Ltd' })).to.equal(
      'invalid_request org_name',
    );
    expect(await refusal('invite', {})).to.equal('invalid_request invite_token');
    expect(await refusal('open', {})).to.equal('invalid_request org_name');
    expect(await refusal('open', { org_name: 'Sam Ltd', invite_token: 'x' })).to.equal(
      'invalid_request org_name',
    );
  });

  it('leaves nothing that can be found when it stops before the claim', async () => {
    const strangers = new Strangers(gateway);
    const { events } = strangers.ports;
    const dying = new Proxy(events, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'append') return value;
        return (stream: string, ...rest: unknown[]) =>
          stream.startsWith('uniqueEmail-')
            ? Promise.reject(new Error('power failure'))
            : (value as (...given: unknown[]) => unknown)(stream, ...rest);
      },
    });
    const context = strangers.context({ ports: { ...strangers.ports, events: dying } });
    const input = { ...INPUT, org_name: 'Sam Ltd' };
    expect((await rejection(signUp.handle(input, context))).message).to.equal('power failure');
    expect(gateway.events.all.map(({ type }) => type)).not.to.include('SystemMailRequested');
    await signUp.handle(input, strangers.context());
    const sams = [...gateway.ports.directory.state.people.values()].filter(({ name }) => name === 'Sam');
    expect(sams.map(({ isVerified }) => isVerified)).to.deep.equal([false, false]);
  });
});
