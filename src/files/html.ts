import { parseHTML } from 'linkedom'
import { checkDepth } from './depth.ts'
import { oneLine, toMetadata, type Document } from './document.ts'
import { toSections } from './markdown.ts'

/** The part of the DOM used here. The full types belong to browsers. */
interface DomNode {
  nodeType: number
  tagName?: string
  textContent: string | null
  childNodes: Iterable<DomNode>
}

const skippedTags = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'NAV', 'SVG', 'IFRAME', 'HEAD', 'BUTTON', 'FORM'])
const blockTags = new Set([
  ...['ADDRESS', 'ARTICLE', 'ASIDE', 'BLOCKQUOTE', 'BODY', 'DD', 'DETAILS', 'DIV', 'DL', 'DT', 'FIGCAPTION', 'FIGURE', 'FOOTER'],
  ...['HEADER', 'HR', 'HTML', 'MAIN', 'OL', 'P', 'PRE', 'SECTION', 'SUMMARY', 'TABLE', 'UL'],
])

/** The text of a page with headings, lists and table rows in Markdown, without scripts, styles and navigation. Throws for elements that are nested too deeply. */
export function readHtml(html: string): Document {
  // linkedom puts a fragment without <html> and <body> beside the body instead of inside.
  const whole = /<html[\s>]/i.test(html) ? html : `<!doctype html><html><head></head><body>${html}</body></html>`
  checkDepth(whole, { isXml: false })
  const { document } = parseHTML(whole)
  const text = tidy(toText(document.documentElement))
  const metaContent = (name: string) => document.querySelector(`meta[name="${name}"]`)?.getAttribute('content')?.trim() ?? ''
  const title = document.querySelector('title')?.textContent?.trim() ?? ''
  return {
    text,
    sections: toSections(text),
    metadata: toMetadata({ title, description: metaContent('description'), author: metaContent('author') }),
  }
}

function toText(node: DomNode): string {
  if (node.nodeType === 3) return (node.textContent ?? '').replace(/\s+/g, ' ')
  if (node.nodeType !== 1) return ''
  const tag = (node.tagName ?? '').toUpperCase()
  if (skippedTags.has(tag)) return ''
  if (tag === 'BR') return '\n'
  if (tag === 'PRE') return `\n\n\`\`\`\n${(node.textContent ?? '').replaceAll('\r\n', '\n')}\n\`\`\`\n\n`
  const inside = [...node.childNodes].map(toText).join('')
  if (/^H[1-6]$/.test(tag)) return `\n\n${'#'.repeat(Number(tag[1]))} ${oneLine(inside)}\n\n`
  if (tag === 'LI') return `\n- ${inside.trim()}`
  if (tag === 'TR') return `\n|${inside}`
  if (tag === 'TD' || tag === 'TH') return ` ${oneLine(inside)} |`
  return blockTags.has(tag) ? `\n\n${inside}\n\n` : inside
}

/** Removes white space at the start and end of lines, and repeated empty lines. */
export function tidy(text: string): string {
  return text
    .replace(/(?<![ \t])[ \t]+\n/g, '\n')
    .replace(/\n[ \t]+(?=\S)/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
