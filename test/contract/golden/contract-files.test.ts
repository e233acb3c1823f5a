import { z } from 'zod';
import { allEvents } from '../../../commands/event-catalogue.ts';
import { ERROR_TABLE } from '../../../commands/values/errors.ts';
import { versionOf } from '../../../commands/values/event.ts';
import { toolOf } from '../../../mcp/tool.ts';
import { capabilities } from '../../../read-api/capabilities.ts';
import { openApiDocument } from '../../../read-api/http/openapi.ts';
import { publicRoutes } from '../../../read-api/http/public-routes.ts';
import { expectGolden } from '../../support/suite/golden.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('the recorded contract', () => {
  it(`equals the OpenAPI document ${verifies('contract:17:openapi')}`, async () => {
    await expectGolden(
      'openapi.json',
      openApiDocument(
        { registry: capabilities, publicRoutes },
        { baseUrl: 'https://gateway.example.com', version: '0' },
      ),
    );
  });

  it('equals the tools', async () => {
    const tools = capabilities.map(toolOf).filter((tool) => tool !== null);
    await expectGolden(
      'tools.json',
      tools.map(({ advertised, definition }) => ({
        advertised,
        ...(JSON.parse(definition.described) as object),
      })),
    );
  });

  it('equals the events', async () => {
    await expectGolden(
      'events.json',
      allEvents.map((definition) => ({
        type: definition.type,
        version: versionOf(definition),
        webhooks: Object.keys(definition.webhook?.types ?? {}),
        summary: definition.summary,
        data: z.toJSONSchema(definition.data, { io: 'input' }),
      })),
    );
  });

  it(`equals the errors ${verifies('contract:13:closed-table')}`, async () => {
    await expectGolden('errors.json', ERROR_TABLE);
  });
});
