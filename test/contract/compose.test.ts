import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { EventStoreDBClient } from '@eventstore/db-client';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Config, loadConfig } from '../../infra/process/config.ts';

const Service = z.object({
  build: z.string().optional(),
  image: z.string().optional(),
  environment: z.record(z.string(), z.string()),
  secrets: z.array(z.string()),
  volumes: z.array(z.string()),
  ports: z.array(z.string()).optional(),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  networks: z.array(z.string()),
  deploy: z.object({
    resources: z.object({
      limits: z.object({
        cpus: z.string().regex(/^\d+$/),
        memory: z.string().regex(/^\d+g$/),
        pids: z.int(),
      }),
    }),
  }),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
});
const Compose = z.object({
  services: z.record(z.string(), Service.partial({ secrets: true })),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
  volumes: z.record(z.string(), z.null()),
  networks: z.record(z.string(), z.object({ internal: z.literal(true) })),
});

const StartedBy = z.object({
  config: z.object({ node_flags: z.string() }),
  scripts: z.record(z.string(), z.string()),
});

const compose = Compose.parse(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }));
const services = Object.entries(compose.services);
const gateways = services.filter(([, { build }]) => build !== undefined);

describe('docker-compose.yml', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'gateway-compose-'));
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** The environment with its variables filled in and secrets where this machine can read them. */
  const configOf = (environment: Readonly<Record<string, string>>): Config => {
    const secret = join(folder, 'database_url');
    writeFileSync(secret, 'postgres://gateway:secret@postgres:5432/gateway\n');
    const filled = Object.entries(environment).map(([name, value]) => [
      name,
      name.endsWith('_FILE') ? secret : value.replace(/^\$\{\w+:-(.*)\}$/, '$1'),
    ]);
    return loadConfig(Object.fromEntries(filled) as Record<string, string>);
  };

  it('runs two gateways on separate stores with settings that the schema accepts', () => {
    expect(gateways.map(([name]) => name)).to.have.length(2);
    const doors = gateways.flatMap(([, { ports }]) => ports ?? []);
    expect(new Set(doors).size).to.equal(2);
    const addresses = gateways.map(([, { environment }]) => {
      const config = configOf(environment);
      expect([...config.roles]).to.have.members(['api', 'projector', 'mail', 'webhooks']);
      expect(config.database?.url).to.equal('postgres://gateway:secret@postgres:5432/gateway');
      expect(config.host).to.equal('0.0.0.0');
      return config.baseUrl;
    });
    expect(new Set(addresses).size, 'one address in every token').to.equal(1);
  });

  it('names an event store address that the client accepts', async () => {
    for (const [, { environment }] of gateways) {
      const url = configOf(environment).eventStoreUrl ?? '';
      await EventStoreDBClient.connectionString(url).dispose();
      const host = /^esdb:\/\/([\w-]+):2113\?/.exec(url)?.[1] ?? '';
      expect(compose.services).to.have.property(host);
    }
  });

  it('waits for services that have a health check', () => {
    for (const [, { environment, depends_on = {}, ports = [] }] of gateways) {
      const { port } = configOf(environment);
      expect(ports[0]).to.match(new RegExp(`^127\\.0\\.0\\.1:\\d+:${String(port)}$`));
      for (const [part, { condition }] of Object.entries(depends_on)) {
        expect(condition).to.equal('service_healthy');
        expect(compose.services[part]?.healthcheck).to.be.an('object');
      }
    }
  });

  it('connects only the gateways to the stores and limits the resources of each service', () => {
    const isGateway = (name: string): boolean => gateways.some(([gateway]) => gateway === name);
    for (const [name, { networks, ports, deploy }] of services) {
      if (isGateway(name)) expect(networks).to.have.members(['default', 'stores', 'metrics']);
      else expect([networks, ports], name).to.deep.equal([['stores'], undefined]);
      expect(deploy.resources.limits.pids, name).to.be.within(100, 1_000);
    }
    expect(compose.networks).to.have.all.keys('stores', 'metrics');
  });

  it('exposes metrics to a Prometheus in the network and on no port of the host', () => {
    for (const [, { environment, ports = [] }] of gateways) {
      const { metricsHost, metricsPort } = configOf(environment);
      expect([metricsHost, metricsPort]).to.deep.equal(['0.0.0.0', 9464]);
      expect(ports.filter((door) => door.endsWith(':9464'))).to.deep.equal([]);
    }
  });

  it('pins every image, declares every volume and secret, and keeps secrets out of the environment', () => {
    for (const [name, { image, volumes, secrets = [], environment }] of services) {
      if (image !== undefined) expect(image, name).to.match(/:\d+\.\d+(\.\d+)?$/);
      for (const volume of volumes) expect(compose.volumes).to.have.property(volume.split(':')[0] ?? '');
      const files = Object.values(environment).flatMap(
        (value) => /^\/run\/secrets\/(?<name>\w+)$/.exec(value)?.groups?.['name'] ?? [],
      );
      expect(secrets).to.have.members(files);
      for (const secret of secrets) expect(compose.secrets).to.have.property(secret);
      for (const [variable, value] of Object.entries(environment)) {
        if (/PASSWORD|DATABASE_URL/.test(variable)) expect(value).to.match(/^\/run\/secrets\//);
      }
    }
  });
});

describe('Dockerfile', () => {
  const copied = [...readFileSync('Dockerfile', 'utf8').matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, names]) =>
    (names ?? '').split(' '),
  );

  it('copies exactly the files that the build context allows', () => {
    const letThrough = readFileSync('.dockerignore', 'utf8').match(/(?<=^!).+$/gm);
    expect(copied).to.have.members(letThrough ?? []);
    expect(readdirSync('.')).to.include.members(copied);
  });

  it('starts Node with the flags of npm start', () => {
    const { config, scripts } = StartedBy.parse(JSON.parse(readFileSync('package.json', 'utf8')));
    const [, command = ''] = /^CMD (.+)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    expect(JSON.parse(command)).to.deep.equal([
      'node',
      ...config.node_flags.split(' '),
      'infra/process/main.ts',
    ]);
    expect(scripts['start']).to.match(/ \$npm_package_config_node_flags infra\/process\/main\.ts$/);
    const [environment = ''] = /^ENV .+$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    expect(environment).to.include(/MALLOC_ARENA_MAX=\d/.exec(scripts['start'] ?? '')?.[0] ?? 'nothing');
  });

  it('requests health at the address where the gateway answers', async () => {
    const [, command = ''] =
      /^HEALTHCHECK [^\[]+CMD (\[.+\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    const [program, ...args] = z.array(z.string()).parse(JSON.parse(command));
    expect(program).to.equal('node');
    let status = 503;
    const asked: unknown[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(status).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = String(typeof address === 'object' ? address?.port : '');
    const health = async (): Promise<unknown> => {
      const env = { PATH: process.env['PATH'], PORT: port };
      const [code] = (await once(spawn(process.execPath, args, { env }), 'close')) as unknown[];
      return code;
    };
    try {
      expect(await health()).to.equal(1);
      status = 200;
      expect(await health()).to.equal(0);
      expect(asked).to.deep.equal(['/health/ready', '/health/ready']);
    } finally {
      server.close();
    }
  });

  it('copies every file that the gateway loads', function () {
    this.timeout(60_000);
    const image = mkdtempSync(join(tmpdir(), 'gateway-image-'));
    try {
      for (const name of copied) cpSync(name, join(image, name), { recursive: true });
      symlinkSync(resolve('node_modules'), join(image, 'node_modules'));
      const env = { PATH: process.env['PATH'], ROLES: 'api', DATA_DIR: join(image, 'data') };
      const { stderr, status } = spawnSync(process.execPath, ['infra/process/main.ts'], { cwd: image, env });
      expect(stderr.toString()).to.match(/^ROLES leaves embedded out, so DATABASE_URL and EVENTSTORE_URL/);
      expect(status).to.equal(1);
    } finally {
      rmSync(image, { recursive: true, force: true });
    }
  });
});
