import { isDeepStrictEqual } from 'node:util'
import { isInputRequiredResult, type CallToolResult, type ContentBlock, type Progress } from '@modelcontextprotocol/client'
import type { ToolProgress } from '../../agent/events.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import type { ArtifactUse, JsonObject, JsonValue } from '../../agent/messages.ts'
import { outcomeUnknown } from '../../agent/history.ts'
import { Suspended } from '../../agent/approval.ts'
import { messageOf } from '../../errors.ts'
import { isObject, parseJson } from '../../json/shape.ts'
import { decodeUri, toLine } from '../plain-text.ts'
import { type Connection, ConnectionLost } from './connection.ts'
import { createServerRequests, type AllowedRequests } from './server-requests.ts'
import type { ServerTool } from './server-tool.ts'
import { limits, type Secrets } from './server.ts'

/** Traits of a tool that affect a call. */
type CallTraits = Pick<Tool, 'effect' | 'timeoutMs' | 'maxOutputCharacters'>

/** Entry of `_meta` with the call id: a server can recognise a repeated call by the same id. */
const idempotencyKey = 'idempotency-key'

interface ServerCall {
  /** Name of the entry. */
  entry: string
  connection: Pick<Connection, 'call'>
  secrets: Pick<Secrets, 'mask'>
  /** What the server may ask for during the call. */
  allowed: AllowedRequests
  traits: CallTraits
  input: JsonObject
  context: ToolContext
}

/**
 * Calls a tool of a server, and answers what the server asks for meanwhile. Secrets that the server sends back in results, errors, progress
 * and questions are masked. Throws `Suspended` when the caller of the run has to answer.
 */
export async function callServerTool(
  { listed }: ServerTool,
  { entry, connection, secrets, allowed, traits, input, context }: ServerCall,
): Promise<JsonValue> {
  const { signal, artifact } = context
  const onProgress = createProgressReport((progress) => context.report(secrets.mask(progress)))
  const requests = createServerRequests({ entry, allowed, context, secrets })
  const call = { tool: listed, input, meta: metaOf(context), signal, timeoutMs: traits.timeoutMs, onProgress, requests }
  try {
    let answers = requests.resumed()
    for (;;) {
      const result = await connection.call({ ...call, ...(answers && { answers }) })
      if (!isInputRequiredResult(result))
        return await toOutput(requests.withNotes(secrets.mask(result)), artifact, traits.maxOutputCharacters)
      answers = await requests.answer(result)
    }
  } catch (error) {
    if (error instanceof Suspended) throw error
    if (error instanceof ConnectionLost && traits.effect === 'write')
      throw new Error(`${secrets.mask(error.message)} ${outcomeUnknown}`, { cause: error })
    throw error instanceof Error ? new Error(secrets.mask(error.message), { cause: error }) : error
  }
}

/** `_meta` of a request for a call: the caller's context, the trace and the call id. */
export function metaOf({ traceparent, headers, callId }: ToolContext): Record<string, unknown> {
  return { ...(traceparent !== undefined && { traceparent }), ...headers, [idempotencyKey]: callId }
}

/**
 * Reports progress notifications: a burst at once, then with growing pauses, up to `limits.progressReports`. A server may send any number.
 * `now` is in monotonic milliseconds.
 */
export function createProgressReport(
  report: (progress: ToolProgress) => void,
  now = () => performance.now(),
): (progress: Progress) => void {
  let reports = 0
  let pausedUntil = 0
  return ({ progress, total, message }) => {
    if (reports >= limits.progressReports || now() < pausedUntil) return
    const late = ++reports - limits.progressBurst
    if (late >= 0) pausedUntil = now() + limits.progressPauseMs * limits.progressGrowth ** late
    const text = reports === limits.progressReports ? 'Further progress is left out.' : toLine(message ?? '', 200)
    report({ progress, ...(total !== undefined && { total }), ...(text !== '' && { message: text }) })
  }
}

/**
 * The result of a call for the model and the caller: structured content, text, or both when they differ. Binary content is kept as
 * artifacts, and a line of text names each file. Throws the text of a result with `isError`.
 */
export async function toOutput(result: CallToolResult, keep: ToolContext['artifact'], maxCharacters: number): Promise<JsonValue> {
  const { structuredContent: structured, isError } = result
  const lines: string[] = []
  for (const [index, block] of result.content.entries()) lines.push(await toText(block, index + 1, keep))
  const text = lines.join('\n')
  // Errors are logged in full, so a long document is cut here.
  if (isError) throw new Error(text.slice(0, maxCharacters).toWellFormed() || 'The tool failed without giving a reason.')
  if (structured === undefined) return text
  const parsed = parseJson(text)
  if (text === '' || isDeepStrictEqual(parsed, structured)) return structured as JsonValue
  // Servers wrap a value that is not an object in an object with a single property of any name.
  const [only, ...moreValues] = isObject(structured) ? Object.values(structured) : []
  if (only !== undefined && moreValues.length === 0 && (only === text || isDeepStrictEqual(parsed, only))) return only as JsonValue
  return { structured_content: structured as JsonValue, text }
}

async function toText(block: ContentBlock, number: number, keep: ToolContext['artifact']): Promise<string> {
  if (block.type === 'text') return block.text
  if (block.type === 'image' || block.type === 'audio') {
    const type = toType(block.mimeType, 'application/octet-stream')
    const name = `${block.type}-${number}${endingOf(type)}`
    const file = { name, type, bytes: Buffer.from(block.data, 'base64') }
    return `[${block.type} ${await keepFile(keep, file, { isReturned: true })}]`
  }
  if (block.type === 'resource_link') {
    const details = [block.title ?? block.name, block.mimeType, block.description].filter((part) => part !== undefined && part !== '')
    return `[resource ${uriText(block.uri)}: ${toLine(details.join(', '), 300)}]`
  }
  const { resource } = block
  const isText = 'text' in resource
  const type = toType(resource.mimeType, isText ? 'text/plain' : 'application/octet-stream')
  const bytes = isText ? Buffer.from(resource.text) : Buffer.from(resource.blob, 'base64')
  const file = { name: nameOf(resource.uri, number, type), type, bytes }
  const line = `[resource ${uriText(resource.uri)} ${await keepFile(keep, file, { isReturned: true, uri: uriText(resource.uri) })}]`
  return isText ? `${line}\n${resource.text}` : line
}

/** Keeps a file. A failure is reported in the text only, because the call itself has succeeded. */
async function keepFile(
  keep: ToolContext['artifact'],
  { name, type, bytes }: { name: string; type: string; bytes: Buffer },
  use: ArtifactUse,
): Promise<string> {
  try {
    const artifact = await keep(name, type, bytes, use)
    return `(${type}, ${artifact.size} bytes) is kept as the file ${artifact.name}`
  } catch (error) {
    return `(${type}, ${bytes.length} bytes) could not be kept: ${messageOf(error)}`
  }
}

function toType(type: string | undefined, defaultType: string): string {
  const [essence = ''] = (type ?? '').toLowerCase().split(';')
  return /^[\w.+-]{1,64}\/[\w.+-]{1,128}$/.test(essence.trim()) ? essence.trim() : defaultType
}

function uriText(uri: string): string {
  return toLine(uri, 500)
}

/** The last segment of the path, with a file extension. */
function nameOf(uri: string, number: number, type: string): string {
  const path = URL.canParse(uri) ? new URL(uri).pathname : uri
  const last = toLine(decodeUri(path.split('/').findLast((part) => part !== '') ?? ''), 100) || `resource-${number}`
  return /\.\w{1,8}$/.test(last) ? last : `${last}${endingOf(type)}`
}

const endings: Readonly<Record<string, string>> = {
  'image/jpeg': '.jpg',
  'image/svg+xml': '.svg',
  'audio/mpeg': '.mp3',
  'audio/x-wav': '.wav',
  'text/plain': '.txt',
  'text/markdown': '.md',
  'application/gzip': '.gz',
  'application/octet-stream': '.bin',
  'application/javascript': '.js',
}

/** The file extension of a media type: most subtypes equal the extension (`image/png`, `.png`). */
function endingOf(type: string): string {
  const [, subtype = ''] = type.split('/')
  return endings[type] ?? (/^[a-z0-9]{1,5}$/.test(subtype) ? `.${subtype}` : '.bin')
}
