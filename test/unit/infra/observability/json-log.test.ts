import { expect } from 'chai';
import { createJsonLog, redact } from '../../../../infra/observability/json-log.ts';

describe('createJsonLog', () => {
  const linesOf = (
    write: (log: ReturnType<typeof createJsonLog>) => void,
    least?: 'info' | 'warn' | 'error',
  ) => {
    const lines: string[] = [];
    write(createJsonLog(least, (line) => lines.push(line)));
    return lines;
  };
  const lineOf = (message: string, fields: Record<string, unknown> = {}): Record<string, unknown> => {
    const [line = ''] = linesOf((log) => {
      log.info(message, fields);
    });
    expect(line.indexOf('\n')).to.equal(line.length - 1);
    return JSON.parse(line) as Record<string, unknown>;
  };

  it('writes one JSON line per entry, whatever it contains', () => {
    const entry = lineOf('two\nlines', {
      count: 2,
      at: new Date(0),
      big: 5n,
      none: null,
      left_out: undefined,
    });
    expect(entry).to.deep.include({ level: 'info', message: 'two\nlines', count: 2, big: '5', none: null });
    expect(entry['at']).to.equal('1970-01-01T00:00:00.000Z');
    expect(entry['time']).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(Object.keys(entry).slice(0, 3)).to.deep.equal(['time', 'level', 'message']);
  });

  it('lets no field replace a standard field', () => {
    expect(lineOf('true', { level: 'error', message: 'false', time: 'never' })).to.include({
      level: 'info',
      message: 'true',
    });
  });

  it('omits entries below its level', () => {
    const write = (log: ReturnType<typeof createJsonLog>): void => {
      log.info('i');
      log.warn('w');
      log.error('e');
    };
    expect(linesOf(write)).to.have.length(3);
    expect(linesOf(write, 'warn')).to.have.length(2);
    expect(linesOf(write, 'error')).to.have.length(1);
  });

  it('removes secrets by their form anywhere in an entry', () => {
    const secrets = [
      'mgw_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN',
      'mgs_0123456789abcdef',
      'mgc_0123456789abcdef',
      'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ1c3JfMSJ9.c2lnbmF0dXJl',
    ];
    for (const secret of secrets) {
      const entry = JSON.stringify(
        lineOf(`with ${secret}`, { text: `a=${secret};`, deep: { list: [secret] } }),
      );
      expect(entry).not.to.include(secret.slice(4));
      expect(entry.split('[redacted]')).to.have.length(4);
    }
    const { address } = lineOf('x', { address: 'postgres://user:swordfish@db.example/gateway' });
    expect(address).to.equal('postgres[redacted]db.example/gateway');
  });

  it('removes secrets by their name, and keeps ids', () => {
    expect(
      redact({
        password: 'a',
        newPassword: 'b',
        Authorization: 'c',
        client_secret: 'd',
        imap: { passwd: 'e' },
      }),
    ).to.deep.equal({
      password: '[redacted]',
      newPassword: '[redacted]',
      Authorization: '[redacted]',
      client_secret: '[redacted]',
      imap: { passwd: '[redacted]' },
    });
    const ids = { token_id: 'tok_1', tokenId: 'tok_1', request_id: 'req_1' };
    expect(redact(ids)).to.deep.equal(ids);
  });

  it('writes errors with their stack and without their secrets', () => {
    const { error } = lineOf('x', { error: new Error('refused mgw_abcdef') });
    expect(error).to.match(/^Error: refused \[redacted\]\n\s+at /);
  });

  it('cuts deep and circular values', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    expect(JSON.stringify(lineOf('x', { circle }))).to.include('[cut]');
  });
});
