import path from 'node:path'

/** Files that some models read themselves: PDF documents, audio and videos. */

type MediaKind = 'document' | 'audio' | 'video'

/** The types that are known by their content. */
export const mediaTypes: readonly string[] = [
  'application/pdf',
  'audio/wav',
  'audio/mpeg',
  'audio/ogg',
  'audio/flac',
  'audio/mp4',
  'audio/webm',
  'video/mp4',
  'video/webm',
  'video/quicktime',
]

/** Bytes at the start of a file that tell its type. The tracks of a WebM video are described within them. */
export const mediaHeadBytes = 65_536

export function mediaKindOf(mediaType: string): MediaKind {
  if (mediaType.startsWith('audio/')) return 'audio'
  return mediaType.startsWith('video/') ? 'video' : 'document'
}

/** The MIME type of a PDF document, audio or video by its first bytes, whatever its name says. Undefined for other files. */
export function mediaTypeOfBytes(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, mediaHeadBytes)
  const mark = head.toString('latin1', 0, 4)
  if (head.toString('latin1', 0, 5) === '%PDF-') return 'application/pdf'
  if (mark === 'RIFF' || mark === 'RF64') return head.toString('latin1', 8, 12) === 'WAVE' ? 'audio/wav' : undefined
  if (mark === 'fLaC') return 'audio/flac'
  if (mark === 'OggS') return head.includes('theora') ? undefined : 'audio/ogg'
  if (head.toString('latin1', 4, 8) === 'ftyp') return ofMp4(head)
  if (head.length >= 4 && head.readUInt32BE(0) === ebmlMark) return ofWebm(head)
  return isMp3(head) ? 'audio/mpeg' : undefined
}

/** The start of Matroska files, WebM among them. */
const ebmlMark = 0x1a45dfa3

function ofWebm(head: Buffer): string | undefined {
  if (!head.subarray(0, 64).includes('webm')) return undefined
  return head.includes('V_VP') || head.includes('V_AV1') ? 'video/webm' : 'audio/webm'
}

const audioBrands: readonly string[] = ['M4A ', 'M4B ', 'M4P ', 'F4A ']
/** Pictures in the container of MP4. */
const pictureBrands: readonly string[] = ['heic', 'heix', 'hevc', 'mif1', 'msf1', 'avif', 'avis']

function ofMp4(head: Buffer): string | undefined {
  const brand = head.toString('latin1', 8, 12)
  if (pictureBrands.includes(brand)) return undefined
  if (brand === 'qt  ') return 'video/quicktime'
  // Names of the handlers of tracks. They may stand behind the bytes of a long file, which counts as a video then.
  const isSound = audioBrands.includes(brand) || (head.includes('hdlr') && head.includes('soun') && !head.includes('vide'))
  return isSound ? 'audio/mp4' : 'video/mp4'
}

/** MP3 begins with an ID3 tag, or with the header of a frame of layer III. */
function isMp3(head: Buffer): boolean {
  if (head.length < 10) return false
  if (head.toString('latin1', 0, 3) === 'ID3') return head[3]! < 0x10
  const [sync = 0, version = 0, rates = 0] = head
  const isFrame = sync === 0xff && (version & 0xe6) === 0xe2 && (version & 0x18) !== 0x08
  return isFrame && rates >> 4 !== 0 && rates >> 4 !== 15 && (rates & 0x0c) !== 0x0c
}

const types: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.markdown': 'text/markdown',
  '.mdx': 'text/markdown',
  '.txt': 'text/plain',
  '.csv': 'text/csv',
  '.tsv': 'text/tab-separated-values',
  '.html': 'text/html',
  '.htm': 'text/html',
  '.xhtml': 'application/xhtml+xml',
  '.json': 'application/json',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.xml': 'application/xml',
  '.pdf': 'application/pdf',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.xlsm': 'application/vnd.ms-excel.sheet.macroenabled.12',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.pptm': 'application/vnd.ms-powerpoint.presentation.macroenabled.12',
  '.ppsx': 'application/vnd.openxmlformats-officedocument.presentationml.slideshow',
  '.epub': 'application/epub+zip',
  '.odt': 'application/vnd.oasis.opendocument.text',
  '.eml': 'message/rfc822',
}

/** The MIME type of a readable document by its extension. `text/plain` for unknown extensions. */
export function mediaTypeOf(name: string): string {
  return types[path.extname(name).toLowerCase()] ?? 'text/plain'
}
