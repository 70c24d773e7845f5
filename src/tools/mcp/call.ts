import type { Progress } from '@modelcontextprotocol/client'
import { outcomeUnknown } from '../../agent/history.ts'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { ConnectionLost, type Connection } from './connection.ts'
import { limits } from './limits.ts'
import { toLine } from '../plain-text.ts'
import { toOutput } from './result.ts'
import type { Secrets } from './secrets.ts'
import type { ServerTool } from './server-tool.ts'

/** Traits of a tool that affect a call. */
type CallTraits = Pick<Tool, 'effect' | 'timeoutMs' | 'maxOutputCharacters'>

/** Entry of `_meta` with the call id: a server can recognise a repeated call by the same id. */
const idempotencyKey = 'idempotency-key'

interface ServerCall {
  connection: Connection
  secrets: Pick<Secrets, 'mask'>
  traits: CallTraits
  input: JsonObject
  context: ToolContext
}

/** Calls a tool of a server. Secrets that the server sends back in results, errors and progress are masked. */
export async function callServerTool(
  { listed }: ServerTool,
  { connection, secrets, traits, input, context }: ServerCall,
): Promise<JsonValue> {
  const { signal, artifact } = context
  const trace = context.traceparent === undefined ? {} : { traceparent: context.traceparent }
  const meta = { ...trace, ...context.headers, [idempotencyKey]: context.callId }
  try {
    const onProgress = createProgressLog((line) => context.log(secrets.mask(line)))
    const result = await connection.call({ tool: listed, input, meta, signal, timeoutMs: traits.timeoutMs, onProgress })
    return await toOutput(secrets.mask(result), artifact, traits.maxOutputCharacters)
  } catch (error) {
    if (error instanceof ConnectionLost && traits.effect === 'write')
      throw new Error(`${secrets.mask(error.message)} ${outcomeUnknown}`, { cause: error })
    throw error instanceof Error ? new Error(secrets.mask(error.message), { cause: error }) : error
  }
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
