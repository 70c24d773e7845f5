import { Defuddle } from 'defuddle/node'
import { parseHTML } from 'linkedom'
import { readHtml } from '../../files/html.ts'

/** What a page says, without what stands around it on every page of its site. */
export interface Page {
  title?: string
  author?: string
  /** As the page writes it. */
  published?: string
  site?: string
  language?: string
  /** Markdown. */
  text: string
}

/** Less is a page whose text was taken for what stands around it. */
const fewCharacters = 200

/** Nothing is fetched: some sites' readers would ask these sites for more. */
export async function readPage(html: string, url: string): Promise<Page> {
  const found = await Defuddle(toDocument(html), url, { markdown: true, useAsync: false })
  const { title, author, published, site, language } = found
  const main = tidy(found.content)
  const text = main.length >= fewCharacters ? main : longer(main, tidy(readHtml(html).text))
  return { ...toKnown({ title, author, published, site, language }), text }
}

function longer(one: string, other: string): string {
  // Menus and the like are more than three times what a short page says.
  return one.length * 3 >= other.length ? one : other
}

/** What its reader asks of a browser, and linkedom has not. */
function toDocument(html: string) {
  const whole = /<html[\s>]/i.test(html) ? html : `<!doctype html><html><head></head><body>${html}</body></html>`
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

const longest = 300

function toKnown(values: Record<string, string | undefined>): Record<string, string> {
  const known = Object.entries(values).map(([key, value]) => [key, (value ?? '').replace(/\s+/g, ' ').trim().slice(0, longest)] as const)
  return Object.fromEntries(known.filter(([, value]) => value !== ''))
}
