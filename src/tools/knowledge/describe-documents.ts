import type { IndexedDocument } from './document-store.ts'

const maxCharacters = 600
/** Documents that are looked at. A description is made for each model call, and a few documents show the topics. */
const maxDocuments = 200

/** Describes the tool by patterns and headings, taken from the documents in turn. Headings help a search for tools to find the tool by topic. */
export function describeDocuments(patterns: readonly string[], hasUploads: boolean, documents: Iterable<IndexedDocument>): string {
  const sources = [...(patterns.length > 0 ? [`the documents ${patterns.join(', ')}`] : []), ...(hasUploads ? ['uploaded documents'] : [])]
  const start = `Searches ${sources.join(' and ')} and returns passages with their file and heading. Name both in the answer.`
  const room = maxCharacters - start.length - ' Headings: .'.length
  const titles = selectTitles(Iterator.from(documents).take(maxDocuments).toArray(), room)
  return titles.length > 0 ? `${start} Headings: ${titles.join(', ')}.` : start
}

/** The first title of each document, then the second of each, and so on, as many as fit into `room` characters. */
function selectTitles(documents: readonly IndexedDocument[], room: number): string[] {
  const titles = new Set<string>()
  let remaining = room
  let rest = documents.map(titlesOf)
  while (remaining > 0 && rest.length > 0) {
    rest = rest.filter((list) => {
      const { value: title } = list.next()
      if (title === undefined) return false
      if (title.length + 2 <= remaining && !titles.has(title)) {
        titles.add(title)
        remaining -= title.length + 2
      }
      return true
    })
  }
  return [...titles]
}

function* titlesOf({ headings, metadata }: IndexedDocument): Generator<string, undefined> {
  const title = String(metadata['title'] ?? '')
  if (isDescriptive(title)) yield title
  for (const heading of headings) {
    const last = heading.split(' > ').at(-1) ?? ''
    if (isDescriptive(last)) yield last
  }
}

function isDescriptive(title: string): boolean {
  return title !== '' && title.length <= 80 && !/^(page|sheet|slide)\s?\d+$/i.test(title)
}
