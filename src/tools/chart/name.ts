import type { JsonObject, JsonValue } from '../../agent/messages.ts'

const longest = 60

/** A file's name out of a chart's title, without an ending: `sales-by-region`. */
export function nameOf({ title, description }: JsonObject): string {
  const name = textOf(title) || textOf(description)
  const plain =
    name
      .normalize('NFC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu)
      ?.join('-') ?? ''
  const short = plain.slice(0, longest).toWellFormed().replace('\ufffd', '')
  // A word that was cut is left out, unless it is all there is.
  return (plain.length > short.length ? short.replace(/-[^-]*$/, '') : short) || 'chart'
}

function textOf(title: JsonValue | undefined): string {
  if (typeof title === 'string') return title
  if (Array.isArray(title)) return title.filter((line) => typeof line === 'string').join(' ')
  return typeof title === 'object' && title !== null ? textOf(title['text']) : ''
}
