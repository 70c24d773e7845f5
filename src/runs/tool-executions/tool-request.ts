import { createHash, hash } from 'node:crypto'
import { callerKey, type Owner } from '../../access/owner.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { DataFilter, Tool, ToolSet } from '../../agent/tool.ts'
import { ServiceError } from '../../errors.ts'
import { checkHints, notReady, whenUnknown } from '../intake/hints.ts'
import { runKeyText, type RunKey } from '../run.ts'
import type { StoredExecution } from './execution-store.ts'

export interface ToolRequest {
  requestId: string
  /** True where the caller chose the request id: only such a request can be repeated. */
  isRepeatable: boolean
  sessionId: string | undefined
  /** Id of the session when the caller named none. */
  newSessionId: string
  bodyHash: string
  toolName: string
  input: JsonObject
  filters: DataFilter[]
  headers: Record<string, string>
  /** W3C `traceparent` of the caller. */
  traceparent?: string
  /** Called with each line that the tool logs while this request is the one that runs it. */
  onLog?: (text: string) => void
}

/** The tool of a request, with its input checked. Throws where the tool is unknown, not ready, or needs an approval. */
export async function findTool(tools: ToolSet, { toolName, input, filters }: ToolRequest): Promise<Tool> {
  const listings = tools.list()
  const listing = listings.find(({ name }) => name === toolName)
  if (!listing) throw whenUnknown(toolName, listings, new ServiceError('not_found', `There is no tool ${toolName}.`))
  checkHints(filters, tools)
  if (!listing.tool) throw notReady(toolName, listing)
  if (listing.tool.provider)
    throw new ServiceError('invalid_input', `tool_name: ${toolName} runs at the provider of the model: only a model can use it, in a chat.`)
  if (listing.tool.approval)
    throw new ServiceError(
      'approval_required',
      `A call of ${toolName} needs the approval of a person: only the agent can ask for it, in a chat.`,
    )
  const fault = await listing.tool.check(input)
  if (fault) throw new ServiceError('invalid_input', `tool_input: ${fault}.`)
  return listing.tool
}

/** The key of the conversation that direct calls of a session share; no other caller has the same key. */
export function conversationOf(caller: Owner, sessionId: string): string {
  return `direct ${hash('sha256', `${callerKey(caller)}\n${sessionId}`, 'base64url')}`
}

/** The same UUID (RFC 9562, version 8) for every repeat of a request: a remote service that knows the id acts once. */
export function callIdOf(key: RunKey): string {
  const bytes = createHash('sha256').update(runKeyText(key)).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** A request id stands for one request: the same tool call in the same session, and no chat. */
export function refuseOther(earlier: Pick<StoredExecution, 'bodyHash' | 'sessionId'> & { operation?: string }, request: ToolRequest): void {
  const isSame = earlier.bodyHash === request.bodyHash && (earlier.operation ?? 'tool_execute') === 'tool_execute'
  if (isSame && (request.sessionId === undefined || request.sessionId === earlier.sessionId)) return
  throw new ServiceError('request_id_reused', `The request id ${request.requestId} was used for another request.`)
}
