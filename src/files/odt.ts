import { toMetadata, type Document } from './document.ts'
import { tidy } from './html.ts'
import { toSections } from './markdown.ts'
import { openPackedFiles } from './packed-files.ts'
import { attributeOf, elementsOf, isText, nameOf, parseXml, textOf, type XmlNode } from './xml.ts'

/** Reads a text of OpenDocument with headings, lists and table rows in Markdown, without comments and deleted text. */
export async function readOdt(bytes: Buffer): Promise<Document> {
  const files = await openPackedFiles(bytes)
  const manifest = files.find('META-INF/manifest.xml')
  if (manifest?.includes('encryption-data')) throw new Error('it has a password: save it without a password')
  const [body] = elementsOf(parseXml(files.read('content.xml')), 'text')
  if (!body) throw new Error('it is not a text document')
  const text = tidy([...body.childNodes].map(toText).join(''))
  const properties = parseXml(files.find('meta.xml') ?? '<none/>')
  const author = textOf(properties, 'creator') || textOf(properties, 'initial-creator')
  return { text, sections: toSections(text), metadata: toMetadata({ title: textOf(properties, 'title'), author }) }
}

const skippedElements = new Set([
  'annotation',
  'tracked-changes',
  'forms',
  'sequence-decls',
  'note-citation',
  'user-field-decls',
  'variable-decls',
])
const maxSpaces = 100

function toText(node: XmlNode): string {
  if (isText(node)) return (node.textContent ?? '').replace(/\s+/g, ' ')
  const name = nameOf(node)
  if (name === '' || skippedElements.has(name)) return ''
  if (name === 's') return ' '.repeat(Math.min(maxSpaces, Number(attributeOf(node, 'text:c')) || 1))
  if (name === 'tab') return '\t'
  if (name === 'line-break') return '\n'
  const inside = [...node.childNodes].map(toText).join('')
  if (name === 'h') return `\n\n${'#'.repeat(levelOf(node))} ${oneLine(inside)}\n\n`
  if (name === 'p') return `\n\n${inside}\n\n`
  if (name === 'list-item') return `\n- ${inside.trim()}\n`
  if (name === 'table-cell') return ` ${oneLine(inside)} |`
  if (name === 'table-row') return `\n|${inside}`
  if (name === 'note') return ` (${oneLine(inside)})`
  return name === 'table' || name === 'list' ? `\n\n${inside}\n\n` : inside
}

function levelOf(heading: XmlNode): number {
  return Math.min(6, Math.max(1, Number(attributeOf(heading, 'text:outline-level')) || 1))
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
