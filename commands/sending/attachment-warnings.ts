/**
 * Warnings about attachments: what opening one may do, and whether name, declared type and leading bytes
 * agree.
 */
import mime from 'mime-types';
import { visible } from '../html/visible-text.ts';
import type { SendManifest } from '../operations/manifest.ts';
import { type ApprovalWarning, high, medium } from '../operations/approval-warnings.ts';

/** Extensions of files that run, or run something, on at least one system. */
const RUNS = new Set(
  (
    'app apk appx bat chm cmd com cpl dll dmg exe gadget hta inf ins iso jar js jse jnlp lnk mde msc msi msix msp mst pif pkg ' +
    'ps1 ps2 psc1 psm1 py rb reg rgs scr sct sh shb sys url vb vbe vbs vhd vhdx vxd wsc wsf wsh xll'
  ).split(' '),
);
const WITH_MACROS = new Set('docm dotm xlsm xltm xlam pptm potm ppam ppsm sldm xlsb one'.split(' '));
const PAGES = new Set('htm html mht mhtml shtml svg xht xhtml'.split(' '));
const DOCUMENTS = new Set(
  'avi bmp csv doc docx eml gif heic jpeg jpg mov mp3 mp4 odp ods odt pdf png ppt pptx rtf tif tiff txt wav xls xlsx zip'.split(
    ' ',
  ),
);

/** The dangers of a file with this name, in a few words each. */
export function dangersOfName(filename: string): readonly string[] {
  const extensions = filename
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}\p{Z}]/gu, '')
    .replace(/\.+$/, '')
    .split('.')
    .slice(1);
  const last = extensions.at(-1) ?? '';
  const disguised = extensions.slice(0, -1).find((extension) => DOCUMENTS.has(extension));
  const isRisky = RUNS.has(last) || WITH_MACROS.has(last) || PAGES.has(last);
  return [
    ...(RUNS.has(last) ? [`a program or a shortcut (.${last})`] : []),
    ...(WITH_MACROS.has(last) ? [`may hold macros (.${last})`] : []),
    ...(PAGES.has(last) ? [`a web page, which can ask for passwords (.${last})`] : []),
    ...(disguised !== undefined && isRisky
      ? [`two extensions: looks like .${disguised} and is .${last}`]
      : []),
  ];
}

type Attached = SendManifest['attachments'][number];

const nameOf = ({ filename }: Attached): string =>
  filename === null ? 'An attachment without a name' : visible(filename);

export function nameWarnings(attachments: readonly Attached[]): readonly ApprovalWarning[] {
  return attachments.flatMap((attached) =>
    dangersOfName(attached.filename ?? '').map((danger) =>
      high('attachment_danger', `Attachment ${nameOf(attached)}: ${danger}.`),
    ),
  );
}

/**
 * At most one warning per attachment. Its leading bytes contradict its name (its declared type where the name
 * shows none), or its name contradicts its declared type.
 */
export const typeWarnings = (attachments: readonly Attached[]): readonly ApprovalWarning[] =>
  attachments.flatMap(typeWarning);

function typeWarning(attached: Attached): readonly ApprovalWarning[] {
  const declared = (attached.content_type.split(';', 1)[0] ?? '').trim();
  const byName = mime.lookup(attached.filename ?? '') || null;
  const { sniffed_type: byBytes = null } = attached;
  const said = byName ?? declared;
  const name = nameOf(attached);
  if (byBytes !== null && said !== OCTETS && kindOf(byBytes) !== kindOf(said)) {
    return [
      high(
        'attachment_type',
        `Attachment ${name} is named as ${visible(said)}, and its content is ${visible(byBytes)}.`,
      ),
    ];
  }
  if (byName === null || declared === OCTETS || kindOf(byName) === kindOf(declared)) return [];
  return [
    medium(
      'attachment_type',
      `Attachment ${name} is named as ${byName}, and declared as ${visible(declared)}.`,
    ),
  ];
}

const OCTETS = 'application/octet-stream';

const CONTAINERS: readonly (readonly [pattern: RegExp, kind: string])[] = [
  [
    /^application\/(?:.*(?:openxmlformats|opendocument|macroenabled).*|.*\+zip|zip|x-zip.*|java-archive)$/i,
    'zip',
  ],
  [/^application\/(?:x-cfb|msword|vnd\.ms-(?!.*macroenabled).*)$/i, 'cfb'],
  [/^(?:application\/xml|text\/xml|.*\+xml|text\/html)$/i, 'xml'],
  [/^application\/(?:x-msdownload|x-msdos-program|vnd\.microsoft\.portable-executable|x-dosexec)$/i, 'exe'],
  [/^(?:text\/.*|application\/(?:json|javascript|rtf|x-sh))$/i, 'text'],
];

/** Types whose files begin alike have one kind. */
function kindOf(type: string): string {
  const [, kind] = CONTAINERS.find(([pattern]) => pattern.test(type)) ?? [];
  return kind ?? type.toLowerCase().replace('/x-', '/').replace('image/jpg', 'image/jpeg');
}
