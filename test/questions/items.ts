import type { Item } from './question.ts'
import { statesNumber, writeDate } from './numbers.ts'

/** Plain text in lower case: without Markdown marks, with single spaces. */
export function toPlain(text: string): string {
  return text
    .replaceAll(/[*`_|#>]/g, ' ')
    .replaceAll('’', "'")
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toLowerCase()
}

/** Whether a text holds an item: a number as `statesNumber` says, a text as whole words in any case, a date in any usual writing. */
export function holdsItem(text: string, item: Item): boolean {
  if (typeof item === 'object') return item.any.some((each) => holdsItem(text, each))
  if (typeof item === 'number') return statesNumber(text, item)
  return (writeDate(item) ?? [item]).some((each) => positionOf(text, each) >= 0)
}

/** Position of a text in the plain text, as whole words (a plural counts); -1 without one. */
export function positionOf(text: string, item: string): number {
  const wanted = toPlain(item)
  const start = /^\w/.test(wanted) ? String.raw`(?<!\w)` : ''
  const end = /\w$/.test(wanted) ? String.raw`s?(?!\w)` : ''
  return toPlain(text).search(new RegExp(start + RegExp.escape(wanted) + end))
}

/** Whether the texts among the items stand in this order. */
export function isOrdered(text: string, items: Item[]): boolean {
  const positions = items.filter((item) => typeof item === 'string').map((item) => positionOf(text, item))
  return positions.every((position, index) => position >= 0 && (index === 0 || position > positions[index - 1]!))
}
