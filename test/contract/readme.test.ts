/** What the README has people copy reads the demo's facts from the folder that the demo wrote them to. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';

const FACTS = {
  rest_token: 'mgw_rest',
  mailbox_id: 'mbx_1',
  base_url: 'http://127.0.0.1:1',
  mcp_url: 'http://127.0.0.1:1/mcp',
  mcp_token: 'mgw_mcp',
};

const blocks = [...readFileSync('README.md', 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
  ([, block = '']) => block,
);
const blockWith = (text: string): string => blocks.find((block) => block.includes(text)) ?? '';

describe('README.md', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'gateway-readme-'));
    for (const name of ['.data', 'other']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'demo.json'), JSON.stringify({ ...FACTS, mailbox_id: `mbx_${name}` }));
    }
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const sh = (script: string, env: Readonly<Record<string, string>>): string => {
    const PATH = [dirname(process.execPath), process.env['PATH']].join(':');
    return execFileSync('sh', ['-c', script], { cwd: folder, env: { PATH, ...env } }).toString();
  };

  it('reads the facts of the demo in DATA_DIR', () => {
    const [head = ''] = blockWith('T=$(demo').split(/^curl/m);
    const script = `${head}\necho "$T $M $API"`;
    expect(sh(script, {})).to.equal('mgw_rest mbx_.data http://127.0.0.1:1/api/v1\n');
    expect(sh(script, { DATA_DIR: 'other' })).to.equal('mgw_rest mbx_other http://127.0.0.1:1/api/v1\n');
  });

  it('prints a configuration for MCP clients from DATA_DIR', () => {
    const url = FACTS.mcp_url;
    const headers = { Authorization: `Bearer ${FACTS.mcp_token}` };
    expect(JSON.parse(sh(blockWith('mcpServers'), { DATA_DIR: 'other' }))).to.deep.equal({
      mcpServers: { mailbox: { type: 'http', url, headers } },
    });
  });
});
