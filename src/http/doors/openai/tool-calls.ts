import { toClientToolCalls } from '../../../runs/approvals/approval-view.ts'
import type { LastEvent } from '../../../runs/run.ts'

/** A call of a client tool, as chat completions show it. */
export interface FunctionCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** The calls that a completion ends with; empty for none. */
export function functionCallsOf(last: LastEvent): FunctionCall[] {
  const calls = last.type === 'interrupt' ? (toClientToolCalls('', last.calls)?.calls ?? []) : []
  return calls.map(({ tool_call_id: id, tool: name, tool_input: input }) => {
    return { id: toCallId(id), type: 'function', function: { name, arguments: JSON.stringify(input) } }
  })
}

const prefix = 'call_'
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The id of a call for OpenAI clients. */
export function toCallId(callId: string): string {
  return `${prefix}${callId}`
}

/** The id of a call of this service; undefined for an id of another service. */
export function fromCallId(id: string): string | undefined {
  const callId = id.startsWith(prefix) ? id.slice(prefix.length) : ''
  return uuid.test(callId) ? callId : undefined
}
