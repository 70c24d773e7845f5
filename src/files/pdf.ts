import { extractTextItems, getDocumentProxy, getMeta, type StructuredTextItem } from 'unpdf'
import { byLibrary, noTextInPdf, toDocument, toMetadata, type Document } from './document.ts'

/**
 * Reads the text of each page under the heading `Page 1`, or `Page 1, Title` where the outline or lines in larger type give titles. Throws for a PDF
 * without text.
 */
export async function readPdf(bytes: Uint8Array): Promise<Document> {
  const pdf = await byLibrary(() => open(bytes))
  try {
    const { totalPages, items: pages } = await byLibrary(() => extractTextItems(pdf))
    if (pages.every((items) => textOf(items).trim() === '')) throw new Error(`${noTextInPdf} (${totalPages} pages)`)
    const titles = await titlesByOutline(pdf).catch(() => undefined)
    const parts = titles ? pages.map((items, page) => [{ title: titles[page]!, text: textOf(items) }]) : splitByType(pages)
    const sections = parts.flatMap((ofPage, index) => {
      const page = index + 1
      // A page without text has its heading too.
      const present = ofPage.length > 0 ? ofPage : [{ title: '', text: '' }]
      return present.map(({ title, text }) => ({ heading: title ? `Page ${page}, ${title}` : `Page ${page}`, text: text.trim(), page }))
    })
    const { info } = await byLibrary(() => getMeta(pdf))
    return toDocument(sections, toMetadata({ title: info['Title'], author: info['Author'], pages: totalPages }))
  } finally {
    await pdf.loadingTask.destroy()
  }
}

/** A copy is opened, because pdf.js detaches the array passed in. */
function open(bytes: Uint8Array) {
  return getDocumentProxy(Uint8Array.from(bytes), { verbosity: 0 })
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>

/** A part of a page under a title; the first part of a page may have none. */
interface PagePart {
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

function textOf(items: readonly StructuredTextItem[]): string {
  return items.map(({ str, hasEOL }) => str + (hasEOL ? '\n' : '')).join('')
}

/** The parts of each page, whose titles are lines in larger type. A part without a line of its own continues the title before it. */
function splitByType(pages: readonly (readonly StructuredTextItem[])[]): PagePart[][] {
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
async function titlesByOutline(pdf: Pdf): Promise<string[] | undefined> {
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
