import type { JsonObject } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { matchesFilters } from '../filter-match.ts'
import { createDocumentIndex, type IndexedDocument, type PassageHit } from './document-index.ts'

/** Enough to return all passages of a short document. */
const defaultLimit = 8

const schema = {
  type: 'object',
  properties: {
    query: {
      type: 'string',
      minLength: 1,
      maxLength: 2000,
      description: 'Words that the passages should contain, not a question to be answered.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 20, description: 'Number of passages; default 8.' },
  },
  required: ['query'],
  additionalProperties: false,
}

const maxDescriptionCharacters = 600

/** The part of a call's context which decides on visible documents. */
type DataScope = Pick<ToolContext, 'filters' | 'isWithheld'>

/** A tool whose description contains headings: in a restricted scope the model must be given `describe(scope)` instead. */
export interface KnowledgeSearchTool extends Tool {
  describe(scope: DataScope): string
}

/**
 * Returns `{passages: [{file, heading, text, score, metadata}]}`, best first, as many as fit into the tool's output limit. The key of a filter
 * is a field of front matter, or `path` (alias `file`). `now` is in epoch milliseconds.
 */
export async function createKnowledgeSearch(
  spec: ToolSpec,
  deps: ToolDependencies,
  now: () => number = Date.now,
): Promise<ToolBuild & { tool: KnowledgeSearchTool }> {
  const patterns = spec.config['paths'] as string[]
  const index = createDocumentIndex({ ...deps, log: deps.log.child({ tool: spec.name }), patterns, now })
  await index.refresh()

  async function execute(input: JsonObject, context: ToolContext) {
    await index.refresh()
    const hits = index.search(String(input['query']), (document) => isVisible(document, context), Number(input['limit'] ?? defaultLimit))
    context.log(`Found ${hits.length} passages.`)
    return { passages: toPassages(hits, spec.maxOutputCharacters) }
  }

  function describe(scope: DataScope): string {
    const visible = [...index.documents()].filter((document) => isVisible(document, scope))
    return spec.description ?? toDescription(patterns, visible)
  }

  const baseTool = createTool(spec, { description: '', schema, effect: 'read', filters: true, readsFile: index.readsFile, execute })
  const tool: KnowledgeSearchTool = {
    ...baseTool,
    describe,
    // A getter, because the documents change during the lifetime of the tool.
    get description() {
      return describe({ filters: [], isWithheld: () => false })
    },
  }
  return { tool, close: index.close }
}

function isVisible(document: IndexedDocument, { filters, isWithheld }: DataScope): boolean {
  const fields = { ...document.metadata, path: document.file, file: document.file }
  return matchesFilters(fields, filters) && !isWithheld(document.file) && !isWithheld(document.target)
}

function toPassages(hits: readonly PassageHit[], room: number) {
  const passages = []
  let remaining = room - '{"passages":[]}'.length
  for (const { document, passage, score } of hits) {
    const result = { file: document.file, ...passage, score: Number(score.toFixed(3)), metadata: document.metadata }
    remaining -= JSON.stringify(result).length + 1
    // A single passage above the limit is returned too: a cut passage is better than no passage.
    if (remaining < 0 && passages.length > 0) break
    passages.push(result)
  }
  return passages
}

/** Lists the patterns and headings, taken from the documents in turn. Headings help a search for tools to find the tool by topic. */
function toDescription(patterns: readonly string[], documents: readonly IndexedDocument[]): string {
  const start = `Searches the documents ${patterns.join(', ')} and returns passages with their file and heading.`
  const titlesByDocument = documents.map(({ headings, metadata }) =>
    [String(metadata['title'] ?? ''), ...headings.map(lastOf)].filter(isDescriptive),
  )
  const titles = new Set<string>()
  let remaining = maxDescriptionCharacters - start.length - ' Headings: .'.length
  for (let turn = 0; remaining > 0 && titlesByDocument.some((list) => list.length > turn); turn++) {
    for (const title of titlesByDocument.flatMap((list) => list.slice(turn, turn + 1))) {
      if (titles.has(title) || title.length + 2 > remaining) continue
      titles.add(title)
      remaining -= title.length + 2
    }
  }
  return titles.size > 0 ? `${start} Headings: ${[...titles].join(', ')}.` : start
}

function lastOf(heading: string): string {
  return heading.split(' > ').at(-1) ?? ''
}

function isDescriptive(title: string): boolean {
  return title !== '' && title.length <= 80 && !/^(page|sheet)\s?\d+$/i.test(title)
}
