import type { JsonObject } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { matchesFilters } from '../filter-match.ts'
import { createLibrary, type Book, type Find } from './document-index.ts'

/** Enough to see a document of some sections whole. */
const defaultLimit = 8

const schema = {
  type: 'object',
  properties: {
    query: {
      type: 'string',
      minLength: 1,
      maxLength: 2000,
      description: 'Words that the passages should hold; not a question to be answered.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 20, description: 'How many passages; default 8.' },
  },
  required: ['query'],
  additionalProperties: false,
}

const maxDescriptionCharacters = 600

/** What of a call decides on the documents that it may see. */
type DataScope = Pick<ToolContext, 'filters' | 'isWithheld'>

/** A tool whose description holds headings: where a scope is restricted, the model is to be told `describe(scope)` instead. */
export interface KnowledgeSearchTool extends Tool {
  describe(scope: DataScope): string
}

/**
 * Gives `{passages: [{file, heading, text, score, metadata}]}`, best first, as many as fit into the tool's output limit. A filter's
 * key is a field of front matter, or `path` (also `file`). `now` in epoch milliseconds.
 */
export async function createKnowledgeSearch(
  spec: ToolSpec,
  deps: ToolDependencies,
  now: () => number = Date.now,
): Promise<ToolBuild & { tool: KnowledgeSearchTool }> {
  const patterns = spec.config['paths'] as string[]
  const library = createLibrary({ ...deps, log: deps.log.child({ tool: spec.name }), patterns, now })
  await library.refresh()

  async function execute(input: JsonObject, context: ToolContext) {
    await library.refresh()
    const finds = library.search(String(input['query']), (book) => isOpen(book, context), Number(input['limit'] ?? defaultLimit))
    context.log(`${finds.length} passages found.`)
    return { passages: toPassages(finds, spec.maxOutputCharacters) }
  }

  function describe(scope: DataScope): string {
    const open = [...library.books()].filter((book) => isOpen(book, scope))
    return spec.description ?? toDescription(patterns, open)
  }

  const own = createTool(spec, { description: '', schema, effect: 'read', filters: true, readsFile: library.readsFile, execute })
  const tool: KnowledgeSearchTool = {
    ...own,
    describe,
    // The documents change while the tool lives: what it says of them is made when it is asked for.
    get description() {
      return describe({ filters: [], isWithheld: () => false })
    },
  }
  return { tool, close: library.close }
}

function isOpen(book: Book, { filters, isWithheld }: DataScope): boolean {
  const fields = { ...book.metadata, path: book.file, file: book.file }
  return matchesFilters(fields, filters) && !isWithheld(book.file) && !isWithheld(book.target)
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
function toDescription(patterns: readonly string[], books: readonly Book[]): string {
  const start = `Searches the documents ${patterns.join(', ')} and returns passages with their file and heading.`
  const told = books.map(({ headings, metadata }) => [String(metadata['title'] ?? ''), ...headings.map(lastOf)].filter(isTelling))
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
