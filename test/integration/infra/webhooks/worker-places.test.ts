import { expect } from 'chai';
import type { WebhookResponse, WebhookSender } from '../../../../commands/ports/webhook-port.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { webhooks } from '../../../../projections/webhooks.ts';
import { openSample, samplePersonal } from '../../../support/samples/event-author.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { type DeliveryWorld, openDeliveryWorld } from '../../../support/worlds/delivery-world.ts';

const DUE = `read.webhook_due_v${String(webhooks.version)}`;
const ENDPOINTS = ['whk_1', 'whk_2', 'whk_3', 'whk_4'];
/** Of a worker in this world. */
const PLACES = 40;

/** Answers only when it is told. */
function heldSender() {
  const posted: string[] = [];
  const open: (() => void)[] = [];
  const post = ({ endpointId, id }: { readonly endpointId: string; readonly id: string }) =>
    new Promise<WebhookResponse>((resolve) => {
      posted.push(`${endpointId} ${id}`);
      open.push(() => {
        resolve({
          startedAt: systemClock.now(),
          durationMs: 1,
          status: 'succeeded',
          httpStatus: 200,
          error: null,
          excerpt: '',
          retryAfterSeconds: null,
        });
      });
    });
  const webhookSender: WebhookSender = { vet: () => Promise.resolve(), post };
  const answerAll = (): void => {
    for (const answer of open.splice(0)) answer();
  };
  return { posted, answerAll, ports: { webhookSender } };
}

describe('the places of a worker that delivers webhooks', function () {
  this.timeout(90_000);
  let world: DeliveryWorld;
  let sender: ReturnType<typeof heldSender>;
  let other: ReturnType<typeof heldSender>;
  beforeEach(async () => {
    sender = heldSender();
    other = heldSender();
    world = await openDeliveryWorld();
    for (const id of ENDPOINTS) await world.endpoint(id, 'https://example.com/');
    await world.queue(ENDPOINTS, 1, 50);
    await world.rows();
  });
  afterEach(async () => {
    const ended = world[Symbol.asyncDispose]();
    // The workers were asked to end: they begin no other request.
    sender.answerAll();
    other.answerAll();
    await ended;
  });

  const claimed = async (): Promise<number> =>
    (await world.rig.sql.query(`select from work.delivery_claim k join ${DUE} d on d.id = k.delivery_id`))
      .length;

  /** As many requests as there are places, then those that follow, with as many claims that wait. */
  async function fillPlaces() {
    const run = world.run({ ports: sender.ports });
    await eventually(() => sender.posted.length === PLACES);
    sender.answerAll();
    await eventually(async () => (await claimed()) === 2 * PLACES);
    expect(sender.posted).to.have.length(2 * PLACES);
    return run;
  }

  it('are filled by what was claimed ahead, without another pass', async () => {
    await fillPlaces();
    sender.answerAll();
    // A pass takes longer than this turn.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(sender.posted).to.have.length(3 * PLACES);
    expect(new Set(sender.posted).size).to.equal(3 * PLACES);
  });

  it('leave to another worker what waits for one in vain', async () => {
    await fillPlaces();
    world.run({ ports: other.ports });
    await eventually(() => other.posted.length === PLACES);
    expect(new Set([...sender.posted, ...other.posted]).size).to.equal(3 * PLACES);
    expect(sender.posted).to.have.length(2 * PLACES);
  });

  it('open the URL of an endpoint once for the claims of a pass', async () => {
    let opened = 0;
    const open: typeof openSample = async (sealed) => {
      opened += 1;
      return await openSample(sealed);
    };
    const seal = () => Promise.reject(new Error('nothing is sealed'));
    const personal = {
      ...samplePersonal,
      open,
      seal,
      erase: () => Promise.resolve(),
      isErased: () => Promise.resolve(false),
    };
    world.run({ ports: { ...sender.ports, personal } });
    await eventually(() => sender.posted.length === PLACES);
    expect(opened).to.equal(ENDPOINTS.length);
  });

  it('are not filled any more when the worker is asked to end', async () => {
    const run = await fillPlaces();
    const ended = run.stop();
    sender.answerAll();
    await ended;
    expect(sender.posted).to.have.length(2 * PLACES);
    await world.rows();
    expect(await claimed()).to.equal(0);
  });
});
