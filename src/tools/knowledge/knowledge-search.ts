import type { JsonObject } from '../../agent/messages.ts'
import type { Tool, ToolContext, ToolState } from '../../agent/tool.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { describeDocuments } from './describe-documents.ts'
import type { IndexState } from './document-index.ts'
import { isVisibleFile, isVisibleUpload, toOutput, uploadsPath, type DocumentScope, type FoundPassage } from './found-passages.ts'
import { shareDocumentIndex } from './shared-indexes.ts'

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

/** A tool whose description contains headings: in a restricted scope the model must be given `describe(scope)` instead. */
export interface KnowledgeSearchTool extends Tool {
  describe(scope: DocumentScope): string
}

/**
 * Returns `{passages: [{file, document_id?, heading, page?, start, end, text, score, metadata}], note?}`, best first, as many as fit into the
 * tool's output limit. `document_id` names an uploaded document of the caller's tenant; `note` says that documents are not indexed yet. The key
 * of a filter is a field of front matter, `path` (alias `file`) of a file, or `name` or `document_id` of an uploaded document. `now` is in epoch
 * milliseconds; after `maxWaitMs`, changed documents are not waited for.
 */
export async function createKnowledgeSearch(
  spec: ToolSpec,
  deps: ToolDependencies,
  { now = Date.now, maxWaitMs = 2_000 }: { now?(): number; maxWaitMs?: number } = {},
): Promise<ToolBuild & { tool: KnowledgeSearchTool }> {
  const patterns = (spec.config['paths'] ?? []) as string[]
  const hasUploads = spec.config['uploads'] !== false
  const index = await shareDocumentIndex(spec.name, { ...deps, log: deps.log.child({ tool: spec.name }), patterns, now })
  await index.refresh(maxWaitMs)

  async function searchFiles(query: string, limit: number, context: ToolContext): Promise<FoundPassage[]> {
    await index.refresh(maxWaitMs)
    const hits = await index.search(query, (document) => isVisibleFile(document, context), { limit, signal: context.signal })
    return hits.map(({ document, ...hit }) => ({ source: { file: document.file }, metadata: document.metadata, ...hit }))
  }

  async function searchUploads(query: string, limit: number, context: ToolContext): Promise<{ found: FoundPassage[]; waiting: number }> {
    if (!hasUploads || context.isWithheld(uploadsPath)) return { found: [], waiting: 0 }
    const { signal, caller } = context
    const options = { limit, signal, isVisible: (document: Parameters<typeof isVisibleUpload>[0]) => isVisibleUpload(document, context) }
    const { hits, waiting } = await deps.documents.search(caller.tenant, query, options)
    const found = hits.map(({ document: { id, name, metadata }, ...hit }) => ({
      source: { file: name, document_id: id },
      metadata,
      ...hit,
    }))
    return { found, waiting }
  }

  async function execute(input: JsonObject, context: ToolContext): Promise<JsonObject> {
    const [query, limit] = [String(input['query']), Number(input['limit'] ?? defaultLimit)]
    const [files, uploads] = await Promise.all([searchFiles(query, limit, context), searchUploads(query, limit, context)])
    const found = [...files, ...uploads.found].sort((a, b) => b.score - a.score).slice(0, limit)
    context.log(`Found ${found.length} passages.`)
    const note = noteOf(index.state(), uploads.waiting)
    return { passages: toOutput(found, spec.maxOutputCharacters), ...(note !== undefined && { note }) }
  }

  function describe(scope: DocumentScope): string {
    if (spec.description !== undefined) return spec.description
    const visible = Iterator.from(index.documents()).filter((document) => isVisibleFile(document, scope))
    return describeDocuments(patterns, hasUploads, visible)
  }

  const readsFile = (path: string) => (path === uploadsPath ? hasUploads : index.readsFile(path))
  const baseTool = createTool(spec, { description: '', schema, effect: 'read', filters: true, readsFile, execute })
  const tool: KnowledgeSearchTool = {
    ...baseTool,
    describe,
    state: () => toState(index.state()),
    // A getter, because the documents change during the lifetime of the tool.
    get description() {
      return describe({ filters: [], isWithheld: () => false })
    },
  }
  return { tool, close: index.close }
}

/** What a search may have missed. */
function noteOf({ isListed, waiting }: IndexState, waitingUploads: number): string | undefined {
  if (!isListed) return 'The documents are not indexed yet: search again later.'
  const missing = waiting + waitingUploads
  return missing > 0 ? `${missing} documents are not indexed yet: the answer may be in one of them.` : undefined
}

function toState({ isListed, total, waiting, faults }: IndexState): ToolState {
  const progress = isListed ? `${total - waiting} of ${total} documents are indexed` : 'the documents are being listed'
  return {
    ...((!isListed || waiting > 0) && { progress }),
    faults: faults.map(({ file, reason }) => `${file}: ${reason}`),
  }
}
