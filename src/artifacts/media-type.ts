const unknown = 'application/octet-stream'

const byExtension: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  log: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
  ts: 'text/x-typescript',
  py: 'text/x-python',
  sh: 'application/x-sh',
  sql: 'application/sql',
  json: 'application/json',
  jsonl: 'application/jsonl',
  geojson: 'application/geo+json',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  toml: 'application/toml',
  ics: 'text/calendar',
  vcf: 'text/vcard',
  rtf: 'application/rtf',
  tex: 'application/x-tex',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
  zip: 'application/zip',
  gz: 'application/gzip',
  parquet: 'application/vnd.apache.parquet',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  epub: 'application/epub+zip',
  odt: 'application/vnd.oasis.opendocument.text',
  eml: 'message/rfc822',
}

/** The MIME type of a file's extension. */
export function mediaTypeOf(fileName: string): string {
  const extension = /\.([a-z0-9]+)$/i.exec(fileName)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(byExtension, extension) ? byExtension[extension]! : unknown
}

/** RFC 6838, section 4.2. */
const registered = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/

/**
 * Normalises the type given by a tool, without parameters; an invalid or unspecific type is replaced by the type of the
 * file name.
 */
export function toMediaType(type: string, fileName: string): string {
  const essence = type.split(';')[0]!.trim().toLowerCase()
  return registered.test(essence) && essence !== unknown ? essence : mediaTypeOf(fileName)
}

/** True for types that a browser runs as a page or a script when opened directly. */
export function isActive(type: string): boolean {
  return /[/+](xhtml|xml|html|mhtml|(x-)?(java|ecma|j|live)script)\b|^multipart\//.test(type)
}
