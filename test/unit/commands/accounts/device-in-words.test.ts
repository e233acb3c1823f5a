import { expect } from 'chai';
import { deviceInWords } from '../../../../commands/accounts/device-in-words.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit';
const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)';
const ANDROID = 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)';

describe('deviceInWords', () => {
  const CASES: readonly (readonly [string, string])[] = [
    [`${MAC}/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15`, 'Safari on macOS'],
    [`${MAC}/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36`, 'Chrome on macOS'],
    [`${WINDOWS} Chrome/126.0.0.0 Safari/537.36`, 'Chrome on Windows'],
    [`${WINDOWS} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.87`, 'Edge on Windows'],
    [`${WINDOWS} Chrome/124.0.0.0 Safari/537.36 OPR/110.0.0.0`, 'Opera on Windows'],
    [`${WINDOWS} Chrome/124.0.0.0 Safari/537.36 Vivaldi/6.7.3329.35`, 'Vivaldi on Windows'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0',
      'Firefox on Windows',
    ],
    ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0', 'Firefox on Linux'],
    ['Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0', 'Firefox on Android'],
    [`${ANDROID} Chrome/126.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
    [`${ANDROID} SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36`, 'Samsung Internet on Android'],
    [`${IPHONE} Version/17.5 Mobile/15E148 Safari/604.1`, 'Safari on iPhone'],
    [`${IPHONE} CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1`, 'Chrome on iPhone'],
    [`${IPHONE} FxiOS/127.0 Mobile/15E148 Safari/605.1.15`, 'Firefox on iPhone'],
    [`${IPHONE} EdgiOS/125.0.2535.87 Version/17.0 Mobile/15E148 Safari/604.1`, 'Edge on iPhone'],
    [
      'Mozilla/5.0 (iPad; CPU OS 16_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1',
      'Safari on iPad',
    ],
    [
      'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
      'Chrome on ChromeOS',
    ],
    ['curl/8.5.0', 'curl'],
    ['node', 'node'],
    ['python-requests/2.32.3', 'python-requests'],
    ['', 'an unknown program'],
    ['Mozilla/5.0', 'an unknown program'],
    ['<script>alert(1)</script>', 'an unknown program'],
  ];
  for (const [userAgent, words] of CASES) {
    it(`reads ${words} ${verifies('contract:18:session-device')}`, () => {
      expect(deviceInWords(userAgent)).to.equal(words);
    });
  }

  it('reads no version, so that an update is no other device', () => {
    const [older, newer] = ['126.0.0.0', '127.0.0.0'].map(
      (version) => `${WINDOWS} Chrome/${version} Safari/537.36`,
    );
    expect(deviceInWords(older ?? '')).to.equal(deviceInWords(newer ?? ''));
    expect(deviceInWords(null)).to.equal('an unknown program');
    expect(deviceInWords('x'.repeat(100_000))).to.equal('an unknown program');
  });
});
