import { normaliseText } from '../../agent/normalise-text.ts'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'

const maxNameCharacters = 60
/** Limits for the characters and lines read from a title. */
const maxTitleCharacters = 1000
const maxTitleLines = 20

/** A file name made from the title of a chart, without an extension: `sales-by-region`. */
export function nameOf({ title, description }: JsonObject): string {
  const name = (textOf(title) || textOf(description)).slice(0, maxTitleCharacters)
  const plain =
    normaliseText(name, 'NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu)
      ?.join('-') ?? ''
  const short = plain.slice(0, maxNameCharacters).toWellFormed().replace('\ufffd', '')
  // A cut word is dropped, unless the name has no other word.
  return (plain.length > short.length ? short.replace(/-[^-]*$/, '') : short) || 'chart'
}

function textOf(title: JsonValue | undefined): string {
  if (typeof title === 'string') return title
  if (Array.isArray(title))
    return title
      .slice(0, maxTitleLines)
      .filter((line) => typeof line === 'string')
      .join(' ')
  return typeof title === 'object' && title !== null ? textOf(title['text']) : ''
}
