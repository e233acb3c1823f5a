import { expect } from 'chai';
import { leavingPage } from '../../../../infra/authorization-server/oauth-pages.ts';

describe('the page in place of a redirect', () => {
  const page = (to: string) => leavingPage(to, { code: 'x', description: 'y', requestId: 'req_1' });

  it('names the host, or the private scheme of an address without a host', () => {
    expect(page('https://tool.example/cb?error=x')).to.include('<bdi>tool.example</bdi>');
    expect(page('com.example.tool:/cb?error=x'))
      .to.include('<bdi>com.example.tool:</bdi>')
      .and.not.to.include('<bdi></bdi>');
  });
});
