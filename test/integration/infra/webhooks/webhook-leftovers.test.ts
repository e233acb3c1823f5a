import { expect } from 'chai';
import type { WebhookSecrets } from '../../../../commands/ports/webhook-port.ts';
import type { EndpointEvent } from '../../../../commands/webhooks/endpoint-events.ts';
import type { Fact } from '../../../../commands/values/event.ts';
import type { Projector } from '../../../../infra/projector/projector.ts';
import { createWebhookSecrets } from '../../../../infra/security/webhook-secrets.ts';
import { eraseWebhookLeftovers } from '../../../../infra/webhooks/webhook-leftovers.ts';
import { webhooks } from '../../../../projections/webhooks.ts';
import { directoryHolding } from '../../../support/fakes/directory-holding.ts';
import { happened, sealSample } from '../../../support/samples/event-author.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { sampleServer } from '../../../support/samples/server-info.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

const WEEK = 7 * 86_400_000;

describe('secrets of webhooks that nothing signs with', function () {
  this.timeout(60_000);
  let rig: Rig;
  let projector: Projector;
  let webhookSecrets: WebhookSecrets;
  beforeEach(async () => {
    rig = await openRig();
    projector = await rig.start({ projections: [webhooks] });
    webhookSecrets = createWebhookSecrets(rig.sql, randomKey());
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  const secret = async (endpointId: string, days = 30): Promise<string> => {
    const { id } = await webhookSecrets.create(endpointId);
    await rig.sql.query(
      `update vault.webhook_secret set created_at = now() - make_interval(days => $2) where id = $1`,
      [id, days],
    );
    return id;
  };
  const tell = (id: string, ...facts: readonly Fact<EndpointEvent>[]): Promise<unknown> =>
    happened(rig.events, `webhookEndpoint-${id}`, facts);
  const created = (secretId: string): Fact<EndpointEvent> => ({
    type: 'WebhookEndpointCreated',
    data: {
      url: sealSample('https://hooks.example.com'),
      description: null,
      event_types: ['*'],
      mailbox_ids: [],
      payload: 'thin',
      rights_of: 'usr_1',
      created_by: 'usr_1',
      secret_id: secretId,
      secret_hint: sealSample('abcd'),
    },
  });
  const rotated = (secretId: string, previousExpiresInMs: number): Fact<EndpointEvent> => ({
    type: 'WebhookSecretRotated',
    data: {
      secret_id: secretId,
      secret_hint: sealSample('efgh'),
      previous_expires_at: new Date(Date.now() + previousExpiresInMs).toISOString(),
    },
  });
  const directory = directoryHolding();
  const kept = async (): Promise<string[]> => {
    await eraseWebhookLeftovers(
      { sql: rig.sql, directory, events: rig.events, webhookSecrets, server: sampleServer() },
      new Date(),
    );
    return (await rig.sql.query<{ id: string }>('select id from vault.webhook_secret')).map(({ id }) => id);
  };

  it('are erased a week after they were made, of deleted endpoints and of those that never were', async () => {
    const [present, deleted, never, fresh] = [
      await secret('whk_1'),
      await secret('whk_2'),
      await secret('whk_3'),
      await secret('whk_4', 6),
    ];
    await tell('whk_1', created(present));
    await tell('whk_2', created(deleted), { type: 'WebhookEndpointRemoved', data: {} });
    await rig.settle(projector);
    expect(await kept()).to.have.members([present, fresh]);
    expect(await webhookSecrets.read('whk_3', [never])).to.deep.equal([]);
  });

  it('are erased after a rotation, a week after their overlap', async () => {
    const [first, second, third] = [await secret('whk_1'), await secret('whk_1'), await secret('whk_1')];
    await tell('whk_1', created(first), rotated(second, -WEEK - 60_000), rotated(third, 60_000));
    await rig.settle(projector);
    expect(await kept()).to.have.members([second, third]);
  });

  it('are kept while an endpoint signs with them, whatever the read model lacks', async () => {
    const [first, second] = [await secret('whk_1'), await secret('whk_2')];
    await tell('whk_1', created(first));
    await tell('whk_2', created(second));
    await rig.settle(projector);
    await projector.close();
    await rig.sql.query(`delete from read.webhook_endpoint_v${String(webhooks.version)} where id = 'whk_1'`);
    expect(await kept()).to.have.members([first, second]);
  });
});
