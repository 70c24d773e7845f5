import { normaliseText } from '../agent/normalise-text.ts'

/** Bytes of UTF-8: what file systems take, less what a server in front may put before it. */
const maxBytes = 200
const maxExtensionBytes = 20

/** Line ends and other controls, and what turns the direction of a text or can't be seen; joiners are part of some scripts. */
const invisible = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu
const forbidden = /[<>:"|?*]/g
/** Names of devices on Windows, whatever stands behind a dot. */
const reserved = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])(?=\.|$)/i

/** Characters of a name that are read. Its end is, since it may be a path, and has the extension. */
const [maxStart, maxEnd] = [700, 300]

function shortened(name: string): string {
  return name.length > maxStart + maxEnd ? name.slice(0, maxStart) + name.slice(-maxEnd) : name
}

/** A name of a tool's or a model's choice as a base name that any file system takes, and nobody is misled by. */
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

/** Leading dots hide a file, and trailing ones, like blanks, get lost on Windows. */
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

/** Keeps the extension, if it is one. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= maxBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= maxExtensionBytes ? name.slice(dot) : ''
  return firstBytes(name.slice(0, name.length - extension.length), maxBytes - Buffer.byteLength(extension)) + extension
}

/** As many whole characters as fit. */
function firstBytes(text: string, bytes: number): string {
  let kept = ''
  let left = bytes
  for (const character of text) {
    left -= Buffer.byteLength(character)
    if (left < 0) break
    kept += character
  }
  return kept
}
