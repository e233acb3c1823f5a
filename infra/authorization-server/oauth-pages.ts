/** The pages a person sees when a connection cannot go on in the application. */
import { escaped } from '../../commands/html/html-markup.ts';
import { page } from '../../read-api/http/provider-page.ts';

/** What happened, for the codes of RFC 6749 and its relatives; `description` is the library's or our own. */
export interface OAuthFailure {
  readonly code: string;
  readonly description: string;
  readonly requestId: string;
}

const TITLES: Readonly<Record<string, string>> = {
  invalid_client: 'This application is not known here',
  invalid_redirect_uri: 'This application asked to send you to a wrong address',
  temporarily_unavailable: 'Please try again in a moment',
};

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client:
    'Remove the connection in the application and add it again. If that does not help, an owner of your organisation can register the application.',
  invalid_redirect_uri:
    'The application did not name this address when it was registered, so nothing is sent there. If you did not expect this, close this page.',
  temporarily_unavailable: 'Go back to the application and connect again.',
};

const REQUEST = ({ code, requestId }: OAuthFailure): string =>
  `<p class="note">${escaped(code)} · Request ${escaped(requestId)}</p>`;

/** When the browser must not return to the application, or cannot. */
export const failurePage = (failure: OAuthFailure): string =>
  page(
    'refused',
    TITLES[failure.code] ?? 'The application could not be connected',
    `<p><bdi>${escaped(failure.description)}</bdi></p>
<p>${ADVICE[failure.code] ?? 'Nothing was connected. Go back to the application and begin again.'}</p>
${REQUEST(failure)}`,
  );

/** In place of a redirect to an application that nobody vouches for: the person sees where it would lead. */
export function leavingPage(to: string, failure: OAuthFailure): string {
  const { host, protocol } = new URL(to);
  // An address of a private scheme, such as `com.example.app:/callback`, has no host.
  const place = escaped(host === '' ? protocol : host);
  return page(
    'refused',
    'The application could not be connected',
    `<p><bdi>${escaped(failure.description)}</bdi></p>
<p>Nothing was connected. The application asks you to return to <strong><bdi>${place}</bdi></strong>. If you did not expect that, close this page.</p>
<p><a href="${escaped(to)}" rel="noreferrer">Return to <bdi>${place}</bdi></a></p>
${REQUEST(failure)}`,
  );
}
