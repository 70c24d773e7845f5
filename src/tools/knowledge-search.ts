import type { JsonObject } from '../agent/messages.ts'
import type { ToolContext } from '../agent/tool.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from './builder.ts'
import { matchesFilters } from './filter-match.ts'
import { createLibrary, type Book, type Find } from './knowledge/library.ts'

const schema = {
  type: 'object',
  properties: {
    query: {
      type: 'string',
      minLength: 1,
      maxLength: 2000,
      description: 'Words that the passages should hold; not a question to be answered.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 20, description: 'How many passages; default 5.' },
  },
  required: ['query'],
  additionalProperties: false,
}

const maxDescriptionCharacters = 600

/**
 * Gives `{passages: [{file, heading, text, score, metadata}]}`, best first, as many as fit into the tool's output limit. A filter's
 * key is a field of front matter, or `path` (also `file`). `now` in epoch milliseconds.
 */
export async function createKnowledgeSearch(spec: ToolSpec, deps: ToolDependencies, now: () => number = Date.now): Promise<ToolBuild> {
  const patterns = spec.config['paths'] as string[]
  const library = createLibrary({ ...deps, log: deps.log.child({ tool: spec.name }), patterns, now })
  await library.refresh()

  async function execute(input: JsonObject, context: ToolContext) {
    await library.refresh()
    const isOpen = (book: Book) =>
      matchesFilters({ ...book.metadata, path: book.file, file: book.file }, context.filters) &&
      !context.isWithheld(book.file) &&
      !context.isWithheld(book.target)
    const finds = library.search(String(input['query']), isOpen, Number(input['limit'] ?? 5))
    context.log(`${finds.length} passages found.`)
    return { passages: toPassages(finds, spec.maxOutputCharacters) }
  }

  const tool = createTool(spec, {
    description: '',
    schema,
    effect: 'read',
    filters: true,
    readsFile: library.readsFile,
    execute,
  })
  // The documents change while the tool lives: what it says of them is made when it is asked for.
  const description = { get: () => spec.description ?? describe(patterns, library.books()), enumerable: true }
  return { tool: Object.defineProperty(tool, 'description', description), close: library.close }
}

function toPassages(finds: readonly Find[], room: number) {
  const passages = []
  let left = room - '{"passages":[]}'.length
  for (const { book, passage, score } of finds) {
    const shown = { file: book.file, ...passage, score: Number(score.toFixed(3)), metadata: book.metadata }
    left -= JSON.stringify(shown).length + 1
    // One that is cut is better than none.
    if (left < 0 && passages.length > 0) break
    passages.push(shown)
  }
  return passages
}

/** Names the patterns and, of each document in turn, headings: by them a chooser of tools knows what is in here. */
function describe(patterns: readonly string[], books: Iterable<Book>): string {
  const start = `Searches the documents ${patterns.join(', ')} and returns passages with their file and heading.`
  const told = [...books].map(({ headings, metadata }) => [String(metadata['title'] ?? ''), ...headings.map(lastOf)].filter(isTelling))
  const titles = new Set<string>()
  let left = maxDescriptionCharacters - start.length - ' Headings: .'.length
  for (let turn = 0; left > 0 && told.some((each) => each.length > turn); turn++) {
    for (const title of told.flatMap((each) => each.slice(turn, turn + 1))) {
      if (titles.has(title) || title.length + 2 > left) continue
      titles.add(title)
      left -= title.length + 2
    }
  }
  return titles.size > 0 ? `${start} Headings: ${[...titles].join(', ')}.` : start
}

function lastOf(heading: string): string {
  return heading.split(' > ').at(-1) ?? ''
}

function isTelling(title: string): boolean {
  return title !== '' && title.length <= 80 && !/^(page|sheet)\s?\d+$/i.test(title)
}
