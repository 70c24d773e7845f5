import type { JsonObject } from '../../agent/messages.ts'
import type { Caller, FoundDocument, Tool, ToolContext, ToolState } from '../../agent/tool.ts'
import type { Metadata, Section } from '../../files/document.ts'
import type { ReadyDocument } from '../../knowledge/knowledge-store.ts'
import { toDocumentText } from '../../knowledge/passages.ts'
import { createTool, inputSchema, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { describeDocuments } from './describe-documents.ts'
import type { IndexState } from './document-index.ts'
import type { IndexedDocument } from './document-store.ts'
import { matchesFilters } from './filter-match.ts'
import { shareDocumentIndex } from './shared-indexes.ts'

/** Enough to return all passages of a short document. */
const defaultLimit = 8

const schema = inputSchema(
  {
    query: {
      type: 'string',
      minLength: 1,
      maxLength: 2000,
      description: 'Words that the passages should contain, not a question to be answered.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 20, description: 'Number of passages; default 8.' },
  },
  ['query'],
)

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
  const { index, close } = await shareDocumentIndex(spec.name, { ...deps, log: deps.log.child({ tool: spec.name }), patterns, now })
  await index.refresh(maxWaitMs)

  async function searchFiles(query: string, limit: number, context: ToolContext): Promise<FoundPassage[]> {
    await index.refresh(maxWaitMs)
    const hits = await index.search(query, (document) => isVisibleFile(document, context), {
      limit,
      signal: context.signal,
      meter: context.meter,
    })
    return hits.map(({ document, ...hit }) => ({ source: { file: document.file }, metadata: document.metadata, ...hit }))
  }

  async function searchUploads(query: string, limit: number, context: ToolContext): Promise<{ found: FoundPassage[]; waiting: number }> {
    if (!hasUploads || context.isWithheld(uploadsPath)) return { found: [], waiting: 0 }
    const { signal, caller, meter } = context
    const options = {
      limit,
      signal,
      meter,
      isVisible: (document: Parameters<typeof isVisibleUpload>[0]) => isVisibleUpload(document, context),
    }
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

  /** A file by its path, an uploaded document by its id. */
  async function readDocument(id: string, { tenant }: Caller): Promise<FoundDocument | undefined> {
    await index.refresh(maxWaitMs)
    const file = await index.read(id)
    if (file) return { name: id, text: toDocumentText(file.passages), metadata: file.document.metadata }
    const upload = hasUploads ? await deps.documents.read(tenant, id) : undefined
    return upload && { name: upload.document.name, text: toDocumentText(upload.passages), metadata: upload.document.metadata }
  }

  const readsFile = (path: string) => (path === uploadsPath ? hasUploads : index.readsFile(path))
  const baseTool = createTool(spec, { description: '', schema, effect: 'read', filters: true, readsFile, readDocument, execute })
  const tool: KnowledgeSearchTool = {
    ...baseTool,
    describe,
    state: () => toState(index.state()),
    // A getter, because the documents change during the lifetime of the tool.
    get description() {
      return describe({ filters: [], isWithheld: () => false })
    },
  }
  return { tool, close }
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

/** A passage of a file or of an uploaded document. */
export interface FoundPassage {
  source: { file: string; document_id?: string }
  passage: Section
  score: number
  metadata: Metadata
}

/** The part of a call's context which decides on visible documents. */
export type DocumentScope = Pick<ToolContext, 'filters' | 'isWithheld'>

/** Stands for all uploaded documents where tools say which files they read. No file under the root has a hidden name. */
export const uploadsPath = '.uploads/*'

export function isVisibleFile(document: IndexedDocument, { filters, isWithheld }: DocumentScope): boolean {
  const fields = { ...document.metadata, path: document.file, file: document.file }
  return matchesFilters(fields, filters) && !isWithheld(document.file) && !isWithheld(document.target)
}

export function isVisibleUpload({ id, name, metadata }: ReadyDocument, { filters }: DocumentScope): boolean {
  return matchesFilters({ ...metadata, name, document_id: id }, filters)
}

/** The passages as output of the tool: as many as fit into `room` characters, but at least one. */
export function toOutput(found: readonly FoundPassage[], room: number): JsonObject[] {
  const passages: JsonObject[] = []
  let remaining = room - '{"passages":[]}'.length
  for (const { source, passage, score, metadata } of found) {
    const result = { ...source, ...toPlace(passage), score: Number(score.toFixed(3)), metadata }
    remaining -= JSON.stringify(result).length + 1
    // A single passage above the limit is returned too: a cut passage is better than no passage.
    if (remaining < 0 && passages.length > 0) break
    passages.push(result)
  }
  return passages
}

/** A passage with page and characters in the text of the document: from `start` to `end`, exclusive. */
function toPlace({ heading, page, start, text }: Section) {
  return { heading, ...(page !== undefined && { page }), start, end: start + text.length, text }
}
