import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import { serveQuestions } from '../../processes/serve-questions.ts'
import { Defuddle } from 'defuddle/node'
import { parseHTML } from 'linkedom'
import { readHtml } from '../../files/html.ts'
import { checkDepth } from '../../files/depth.ts'

/** A worker process for pages: answers `PageRequest` messages in order, and exits when the channel closes. */

export interface PageRequest {
  html: string
  /** Address of the page; links of the page are relative to this address. */
  url: string
}

/** The text is UTF-8. */
export type PageAnswer = { page: Omit<Page, 'text'>; text: Uint8Array } | { error: string }

async function answer({ html, url }: PageRequest): Promise<PageAnswer> {
  try {
    const { text, ...page } = await readPage(html, url)
    return { page, text: Buffer.from(text) }
  } catch (error) {
    const isDeep = error instanceof RangeError
    return {
      error: isDeep ? 'its elements are nested too deeply' : error instanceof Error ? error.message.slice(0, 500) : 'it is not a page',
    }
  }
}

// Warm-up: most parts of the page reader are created at the first use.
await answer({ html: '<html><body><article><h1>A</h1><p>B</p></article></body></html>', url: 'http://localhost/' })
freezeIntrinsics()
serveQuestions(answer)

/** The main content of a page, without the navigation and other parts repeated on every page of a site. */
export interface Page {
  title?: string
  author?: string
  /** The date as written on the page. */
  published?: string
  site?: string
  language?: string
  /** Markdown. */
  text: string
}

/** Minimum of extracted text; a shorter result means that the content was probably mistaken for navigation. */
const minMainCharacters = 200

/** Extracts the content of a page as Markdown. `useAsync: false`: the extractors of some sites would otherwise fetch more from these sites. */
export async function readPage(html: string, url: string): Promise<Page> {
  const article = await Defuddle(toDocument(html), url, { markdown: true, useAsync: false })
  const { title, author, published, site, language } = article
  const main = tidy(article.content)
  const text = main.length >= minMainCharacters ? main : chooseText(main, tidy(readHtml(html).text))
  return { ...cleanMetadata({ title, author, published, site, language }), text }
}

function chooseText(main: string, whole: string): string {
  // On a short page, menus and similar parts are more than three times as long as the content.
  return main.length * 3 >= whole.length ? main : whole
}

/** Parses HTML, and adds the browser functions that Defuddle needs and linkedom lacks. */
function toDocument(html: string) {
  const whole = /<html[\s>]/i.test(html) ? html : `<!doctype html><html><head></head><body>${html}</body></html>`
  checkDepth(whole, { isXml: false })
  const { document } = parseHTML(whole)
  const view = document.defaultView as unknown as { getComputedStyle?: unknown }
  view.getComputedStyle ??= () => ({ display: '' })
  return Object.assign(document, { styleSheets: [] })
}

function tidy(text: string): string {
  return text
    .replace(/!\[[^[\]]*\]\(data:[^)]*(\))?/g, (image: string, end?: string) => (end ? '' : image))
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

const maxMetadataCharacters = 300

function cleanMetadata(values: Record<string, string | undefined>): Record<string, string> {
  const trimmed = Object.entries(values).map(
    ([key, value]) => [key, (value ?? '').replace(/\s+/g, ' ').trim().slice(0, maxMetadataCharacters)] as const,
  )
  return Object.fromEntries(trimmed.filter(([, value]) => value !== ''))
}
