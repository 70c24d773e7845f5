import { isInputRequiredResult, type Progress } from '@modelcontextprotocol/client'
import { outcomeUnknown } from '../../agent/history.ts'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { Suspended } from '../../agent/suspension.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { ConnectionLost, type Connection } from './connection.ts'
import { limits } from './limits.ts'
import { toLine } from '../plain-text.ts'
import { createServerRequests, type AllowedRequests } from './requests/server-requests.ts'
import { toOutput } from './result.ts'
import type { Secrets } from './secrets.ts'
import type { ServerTool } from './server-tool.ts'

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
  const onProgress = createProgressLog((line) => context.log(secrets.mask(line)))
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

/** Logs the first progress notifications, up to `limits.progressLines`: a server may send any number. */
function createProgressLog(log: (text: string) => void): (progress: Progress) => void {
  let lines = 0
  return ({ progress, total, message }) => {
    if (++lines > limits.progressLines) return
    const part = total === undefined ? `${progress}` : `${progress} of ${total}`
    log(lines === limits.progressLines ? 'Further progress is left out.' : `${part}${message ? `: ${toLine(message, 200)}` : ''}`)
  }
}
