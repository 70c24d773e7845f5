import { AgentCoreError, networkError, parseJson } from '../error.ts'
import type { CallOptions, Query, Reply, Schema } from '../operation.ts'
import type { Transport } from '../transport.ts'
import { nextPage, readPages } from './pages.ts'

export type AuditPage = Reply<'GET', '/core/v1/audit'>
export type AuditEvent = AuditPage['events'][number]
export type AuditFilter = Query<'GET', '/core/v1/audit'>
export type AuditHeadPage = Reply<'GET', '/core/v1/audit/heads'>
export type AuditHead = AuditHeadPage['heads'][number]
/** A line of an export: an event with its place in the chain, or a head. */
export type AuditLine = Schema<'AuditLine'>
type ExportFilter = Query<'GET', '/core/v1/audit/export'>
type HeadFilter = Query<'GET', '/core/v1/audit/heads'>

/** The ledger of the tenant: who did what. */
export interface Audit {
  /** Lists a page of events, newest first. With a rare filter a page may be short or empty while `has_more` is true. */
  list(filter?: AuditFilter, options?: CallOptions): Promise<AuditPage>
  /** Yields all events, page by page. */
  all(filter?: AuditFilter, options?: CallOptions): AsyncGenerator<AuditEvent, void>
  /** Yields the sealed events in the order of the chain, each followed by the heads that sign it, as fast as they are taken. */
  export(filter?: ExportFilter, options?: CallOptions): AsyncGenerator<AuditLine, void>
  /** Returns the export as an unread `Response`, to be written to a file. */
  download(filter?: ExportFilter, options?: CallOptions): Promise<Response>
  /** Lists a page of signed heads, newest first. */
  heads(filter?: HeadFilter, options?: CallOptions): Promise<AuditHeadPage>
}

export function createAudit(transport: Transport): Audit {
  const list: Audit['list'] = (query, options) => transport.request('GET', '/core/v1/audit', { ...options, query })
  const download: Audit['download'] = (query, options) => transport.send('GET', '/core/v1/audit/export', { ...options, query })

  return {
    list,
    all(filter, options) {
      const load = (before: string | undefined) => list({ ...filter, ...(before === undefined ? {} : { before }) }, options)
      return readPages(load, { elements: ({ events }) => events, next: nextPage })
    },
    async *export(filter, options) {
      const { body } = await download(filter, options)
      if (body) yield* readLines(body, options?.signal)
    },
    download,
    heads: (query, options) => transport.request('GET', '/core/v1/audit/heads', { ...options, query }),
  }
}

/** Longest line: a stream that never ends a line must not fill the memory of the client. */
const maxLineCharacters = 16_000_000

async function* readLines(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<AuditLine, void> {
  let rest = ''
  for await (const text of readText(body, signal)) {
    const lines = text.split('\n')
    lines[0] = rest + lines[0]!
    rest = lines.pop()!
    if (rest.length > maxLineCharacters) throw invalid()
    yield* lines.map(toLine)
  }
  if (rest !== '') throw invalid()
}

async function* readText(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } catch (cause) {
    signal?.throwIfAborted()
    throw networkError('The connection broke during the export.', cause)
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function toLine(text: string): AuditLine {
  const line = parseJson(text)
  if (line === undefined) throw invalid()
  return line as AuditLine
}

function invalid(): AgentCoreError {
  return new AgentCoreError('The export is not lines of JSON.', { status: 200, errorType: 'InvalidReply' })
}
