import type { getDocumentProxy, StructuredTextItem } from 'unpdf'

export type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>

/** A part of a page under a title; the first part of a page may have none. */
export interface PagePart {
  title: string
  text: string
}

interface Line {
  text: string
  /** Largest type of the line. */
  size: number
}

const maxTitleCharacters = 100
/** Titles are larger than the text by this factor. */
const minFactor = 1.15
/** Large type is the text of slides and posters, rather than titles, where it has more than this part of all characters. */
const maxTitleShare = 0.2
/** Entries of an outline that are read. */
const maxEntries = 2_000

export function textOf(items: readonly StructuredTextItem[]): string {
  return items.map(({ str, hasEOL }) => str + (hasEOL ? '\n' : '')).join('')
}

/** The parts of each page, whose titles are lines in larger type. A part without a line of its own continues the title before it. */
export function splitByType(pages: readonly (readonly StructuredTextItem[])[]): PagePart[][] {
  const lines = pages.map(toLines)
  const titleSize = findTitleSize(lines.flat())
  let title = ''
  return lines.map((ofPage) => {
    const parts: PagePart[] = []
    let isInTitle = false
    for (const { text, size } of ofPage) {
      const isTitle = size >= titleSize && /\p{L}/u.test(text) && text.length <= maxTitleCharacters
      const current = parts.at(-1)
      if (isTitle) {
        // A title may have several lines.
        title = isInTitle && title.length < maxTitleCharacters ? `${title} ${text.trim()}` : text.trim()
        if (isInTitle) current!.title = title
        else parts.push({ title, text: '' })
      } else if (current) current.text += `${text}\n`
      else parts.push({ title, text: `${text}\n` })
      isInTitle = isTitle || (isInTitle && text.trim() === '')
    }
    return parts
  })
}

function toLines(items: readonly StructuredTextItem[]): Line[] {
  const lines: Line[] = []
  let open: Line | undefined
  for (const { str, fontSize, hasEOL } of items) {
    if (!open) lines.push((open = { text: '', size: 0 }))
    open.text += str
    if (str.trim() !== '') open.size = Math.max(open.size, Math.round(fontSize * 10) / 10)
    if (hasEOL) open = undefined
  }
  return lines
}

/** The size from which lines are titles; infinite where sizes tell nothing. */
function findTitleSize(lines: readonly Line[]): number {
  const characters = new Map<number, number>()
  for (const { text, size } of lines) characters.set(size, (characters.get(size) ?? 0) + text.trim().length)
  const [bodySize = 0] = [...characters].sort(([, a], [, b]) => b - a)[0] ?? []
  const titleSize = bodySize * minFactor
  const all = [...characters.values()].reduce((sum, count) => sum + count, 0)
  const large = [...characters].reduce((sum, [size, count]) => (size >= titleSize ? sum + count : sum), 0)
  return bodySize > 0 && large <= all * maxTitleShare ? titleSize : Infinity
}

/** The title of each page by the outline: the first entry of the page, otherwise the last one before. Undefined without an outline. */
export async function titlesByOutline(pdf: Pdf): Promise<string[] | undefined> {
  const waiting = [...((await pdf.getOutline()) ?? [])]
  const titles = new Map<number, string>()
  const lasts = new Map<number, string>()
  for (let count = 0; waiting.length > 0 && count < maxEntries; count++) {
    const { title, dest, items } = waiting.shift()!
    waiting.unshift(...items)
    const page = await pageOf(pdf, dest).catch(() => undefined)
    const plain = title.trim().slice(0, maxTitleCharacters)
    if (page === undefined || plain === '') continue
    if (!titles.has(page)) titles.set(page, plain)
    lasts.set(page, plain)
  }
  if (titles.size === 0) return undefined
  let current = ''
  return Array.from({ length: pdf.numPages }, (_, page) => {
    const title = titles.get(page) ?? current
    current = lasts.get(page) ?? current
    return title
  })
}

/** Index of the page that a destination names. */
async function pageOf(pdf: Pdf, destination: string | unknown[] | null): Promise<number | undefined> {
  const explicit = typeof destination === 'string' ? await pdf.getDestination(destination) : destination
  const reference: unknown = explicit?.[0]
  if (typeof reference === 'number') return reference
  return typeof reference === 'object' && reference !== null ? pdf.getPageIndex(reference as never) : undefined
}
