import { normaliseText } from '../../agent/normalise-text.ts'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'

const longest = 60
/** Characters of a title that are looked at, and lines of it. */
const maxRead = 1000
const maxLines = 20

/** A file's name out of a chart's title, without an ending: `sales-by-region`. */
export function nameOf({ title, description }: JsonObject): string {
  const name = (textOf(title) || textOf(description)).slice(0, maxRead)
  const plain =
    normaliseText(name, 'NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu)
      ?.join('-') ?? ''
  const short = plain.slice(0, longest).toWellFormed().replace('\ufffd', '')
  // A word that was cut is left out, unless it is all there is.
  return (plain.length > short.length ? short.replace(/-[^-]*$/, '') : short) || 'chart'
}

function textOf(title: JsonValue | undefined): string {
  if (typeof title === 'string') return title
  if (Array.isArray(title))
    return title
      .slice(0, maxLines)
      .filter((line) => typeof line === 'string')
      .join(' ')
  return typeof title === 'object' && title !== null ? textOf(title['text']) : ''
}
