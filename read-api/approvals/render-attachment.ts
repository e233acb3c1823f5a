/** Attachments as a person has to see them: the whole name, size and hash, and what opening one may do. */
import type { SendManifest } from '../../commands/operations/approvals/manifest.ts';
import { bytesText } from './render-numbers.ts';
import type { Fact } from './render-document.ts';

/** Runs, or runs something, on one system or another. */
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

type Attached = SendManifest['attachments'][number];

/** The attachment in a line. */
export const attachmentFact = ({ filename, content_type, size, sha256 }: Attached): Fact => ({
  text: filename ?? 'without a name',
  notes: [content_type, bytesText(size), `SHA-256 ${sha256}`],
  warnings: filename === null ? [] : warningsOf(filename),
});

function warningsOf(filename: string): readonly string[] {
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
