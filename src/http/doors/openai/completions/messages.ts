import { invalid, type Fault } from '../../../../errors.ts'
import type { BroughtCall } from '../../../../runs/run.ts'
import { toBroughtChat, type BroughtChat, type Entry } from '../brought-chat.ts'
import type { CompletionMessage } from './schemas.ts'
import { toTurn, type Turn } from '../messages.ts'
import { toPlainId } from '../ids.ts'

type Loc = Fault['loc']

/** The messages of a completion as a chat. */
export interface CompletionChat extends BroughtChat {
  /** The outputs that end the request, as the client sent them; empty if the request ends with a question. */
  outputs: ToolOutput[]
}

/** The output of a call that this service, or another one, has requested. */
export interface ToolOutput {
  /** Id without the prefix of OpenAI's API. */
  callId: string
  output: string
}

/** Converts the messages of a completion. Each call must have its output in a tool message behind it. */
export function toCompletionChat(messages: readonly CompletionMessage[], at: Loc): CompletionChat {
  const entries: Entry[] = []
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]!
    const loc = [...at, index]
    if (message.role === 'tool') throw invalid([...loc, 'role'], 'a tool message must follow an assistant message with its tool_calls')
    const calls = message.role === 'assistant' && message.tool_calls?.length ? toCalls(messages, index, at) : undefined
    entries.push({ ...toEntry(message, loc), ...(calls ? { calls } : {}) })
    index += calls?.length ?? 0
  }
  const last = entries.findLast(({ role }) => role !== 'system')
  return { ...toBroughtChat(entries), outputs: (last?.calls ?? []).map(({ id, result }) => ({ callId: id, output: result })) }
}

function toEntry(message: CompletionMessage, at: Loc): Turn {
  if (message.function_call !== undefined && message.function_call !== null)
    throw invalid([...at, 'function_call'], 'is not supported: use tool_calls', 'unsupported_parameter')
  return toTurn({ role: message.role === 'tool' ? 'user' : message.role, content: message.content ?? null }, at)
}

/** The calls of the message at `index`, with the outputs of the tool messages behind it. */
function toCalls(messages: readonly CompletionMessage[], index: number, at: Loc): BroughtCall[] {
  const calls = messages[index]!.tool_calls ?? []
  const outputs = new Map<string, string>()
  for (let next = index + 1; messages[next]?.role === 'tool'; next++) {
    const { tool_call_id: id, content } = messages[next]!
    const loc = [...at, next]
    if (typeof id !== 'string') throw invalid([...loc, 'tool_call_id'], 'is required', 'missing')
    if (!calls.some((call) => call.id === id)) throw invalid([...loc, 'tool_call_id'], `the message before has no tool call ${id}`)
    if (outputs.has(id)) throw invalid([...loc, 'tool_call_id'], `the call ${id} has another output already`)
    outputs.set(id, toTurn({ role: 'system', content: content ?? '' }, loc).content)
  }
  const missing = calls.filter(({ id }) => !outputs.has(id)).map(({ id }) => id)
  if (missing.length > 0 || new Set(calls.map(({ id }) => id)).size < calls.length) {
    throw invalid(
      [...at, index, 'tool_calls'],
      `each call needs a tool message with its output; missing: ${missing.join(', ') || 'equal ids'}`,
    )
  }
  return calls.map(({ id, function: { name, arguments: input } }) => {
    return { id: toPlainId(id), name, arguments: input, result: outputs.get(id)! }
  })
}
