import { expect } from 'chai';
import { capabilities } from '../../../read-api/capabilities.ts';
import { openApiDocument } from '../../../read-api/http/openapi.ts';
import { publicRoutes } from '../../../read-api/http/public-routes.ts';
import { DocumentedAnswers, type MetAnswer } from '../../support/suite/documented-answer.ts';

describe('DocumentedAnswers', () => {
  const document = openApiDocument(
    { registry: capabilities, publicRoutes },
    { baseUrl: 'https://gateway.example', version: '1' },
  );
  const answers = new DocumentedAnswers(document);
  const agent = {
    id: 'agt_1',
    name: 'Agent',
    owner_id: 'usr_1',
    created_at: '2026-01-31T12:00:00.000Z',
    version: 1,
  };
  const page = { next_cursor: null, limit: 50, as_of: '2026-01-31T12:00:00.000Z' };
  const json = (status: number, body: unknown): MetAnswer => ({
    status,
    type: 'application/json; charset=utf-8',
    body,
  });

  it('accepts a documented answer, below a reference too', () => {
    expect(answers.problemOf('GET', '/agents?limit=1', json(200, { items: [agent], page }))).to.equal(null);
    expect(answers.problemOf('DELETE', '/tokens/tok_1', { status: 204, type: null, body: null })).to.equal(
      null,
    );
  });

  it('refuses an unknown field and a missing required one', () => {
    const { owner_id: _, ...ownerless } = agent;
    const more = json(200, { items: [{ ...agent, secret: 'x' }], page });
    expect(answers.problemOf('GET', '/agents', more)).to.contain('secret');
    expect(answers.problemOf('GET', '/agents', json(200, { items: [ownerless], page }))).to.contain(
      'owner_id',
    );
    expect(answers.problemOf('GET', '/agents', json(404, { error: { code: 'not_found' } }))).to.contain(
      'required',
    );
  });

  it('refuses another status or media type, and a body where none is documented', () => {
    expect(answers.problemOf('GET', '/agents', json(418, {}))).to.contain('no such status');
    const text = { ...json(200, { items: [], page }), type: 'text/html' };
    expect(answers.problemOf('GET', '/agents', text)).to.contain('text/html');
    expect(answers.problemOf('DELETE', '/tokens/tok_1', json(204, {}))).to.contain('no body');
  });

  it('ignores a request that no route takes', () => {
    expect(answers.problemOf('GET', '/nowhere', json(404, {}))).to.equal(null);
    expect(answers.problemOf('PUT', '/agents', json(405, {}))).to.equal(null);
  });
});
