import { normaliseText } from '../agent/tool-names.ts'

/** Bytes of UTF-8: the limit of file systems, less space for a prefix by a server. */
const maxBytes = 200
const maxExtensionBytes = 20

/** Line ends and other controls, direction overrides and invisible characters; joiners are part of some scripts. */
const invisible = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu
const forbidden = /[<>:"|?*]/g
/** Device names on Windows, with or without an extension. */
const reserved = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])(?=\.|$)/i

/** Characters read of a name: the end counts, because the name may be a path and ends with the extension. */
const [maxStart, maxEnd] = [700, 300]

function shortened(name: string): string {
  return name.length > maxStart + maxEnd ? name.slice(0, maxStart) + name.slice(-maxEnd) : name
}

/**
 * Turns a name chosen by a tool or a model into a base name that any file system accepts and that misleads no reader.
 */
export function toFileName(name: string): string {
  const plainName = normaliseText(shortened(name).toWellFormed(), 'NFC').replace(invisible, '')
  const base = plainName.split(/[/\\]/).findLast(isSomething) ?? ''
  const plain = trim(base.replace(forbidden, '_'))
  const free = reserved.test(plain) ? `_${plain}` : plain
  return trim(shorten(free)) || 'file'
}

function isSomething(part: string): boolean {
  return trim(part) !== ''
}

/** Removes dots and blanks at both ends: leading dots hide a file, trailing ones get lost on Windows. */
function trim(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text[start])) start++
  while (end > start && isBlank(text[end - 1])) end--
  return text.slice(start, end)
}

function isBlank(character: string | undefined): boolean {
  return character === '.' || character?.trim() === ''
}

/** Shortens a name but keeps the extension. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= maxBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= maxExtensionBytes ? name.slice(dot) : ''
  return firstBytes(name.slice(0, name.length - extension.length), maxBytes - Buffer.byteLength(extension)) + extension
}

/** The first whole characters within a number of bytes. */
function firstBytes(text: string, bytes: number): string {
  let prefix = ''
  let available = bytes
  for (const character of text) {
    available -= Buffer.byteLength(character)
    if (available < 0) break
    prefix += character
  }
  return prefix
}

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
