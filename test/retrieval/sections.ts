import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { corpora, type Corpus, type Passage } from './question-set.ts'

/** A passage with what it says: title of the document, heading, and text up to the next heading. */
export interface Section extends Passage {
  text: string
}

/** All sections with text of a corpus, read from Markdown and simple HTML. */
export function sectionsOf(corpus: Corpus): Section[] {
  const folder = corpora[corpus]
  return readdirSync(folder)
    .toSorted()
    .flatMap((file) => parseSections(file, readFileSync(join(folder, file), 'utf8')))
}

function parseSections(file: string, source: string): Section[] {
  const [intro, ...others] = headingsAsMarkdown(source)
    .split(/^#{1,6} /m)
    .slice(1)
  const title = headingOf(intro ?? '')
  return [intro ?? '', ...others]
    .map((part) => ({ file, heading: headingOf(part), body: part.slice(part.indexOf('\n')).trim() }))
    .filter(({ body }) => body)
    .map(({ heading, body }) => ({ file, heading, text: `${title}\n${heading}\n${body}` }))
}

const headingOf = (part: string): string => (part.split('\n', 1)[0] ?? '').trim()

function headingsAsMarkdown(source: string): string {
  return source
    .replaceAll(/<h([1-6])>/g, (_tag, level) => `\n${'#'.repeat(Number(level))} `)
    .replaceAll(/<\/h[1-6]>/g, '\n')
    .replaceAll(/<[^<>]{1,200}>/g, '')
    .replaceAll(/^ +/gm, '')
}
