import type { Emit } from './events.ts'
import type { AssistantMessage, UserMessage } from './messages.ts'
import { ignoreEvents, type Model, type ModelReply, type RunTrace } from './model.ts'

/** A request to the model of the run, from a server during a call. Nothing of the run is added. */
export interface SampleRequest {
  /** Empty for none. */
  system: string
  messages: readonly (UserMessage | AssistantMessage)[]
  maxOutputTokens: number
}

/** Asks the model of the run on behalf of a tool. Throws `ModelError`. */
export type Sample = (request: SampleRequest, signal: AbortSignal) => Promise<ModelReply>

export interface SamplingOptions {
  model: Model
  /** The tool call. */
  callId: string
  /** The tool, as the run shows it. */
  tool: string
  trace: RunTrace | undefined
  emit: Emit
  now(): number
}

/** The usage counts as usage of the run, and the trace of the run shows the model call inside of the tool call. */
export function createSample({ model, callId, tool, trace, emit, now }: SamplingOptions): Sample {
  return async ({ system, messages, maxOutputTokens }, signal) => {
    const text = messages.map((message) => message.text).join('\n\n')
    await emit({ type: 'nested', callId, subAgent: tool, event: { type: 'instruction', message: { role: 'user', text } } })
    const startedAt = now()
    const modelCall = trace?.modelCall(callId)
    const request = { system, messages, tools: [], options: { maxOutputTokens }, ...(modelCall && { trace: modelCall }) }
    const reply = await model.reply(request, ignoreEvents, signal)
    const { usage, finish } = reply
    const message: AssistantMessage = { role: 'assistant', text: reply.text, toolCalls: [] }
    await emit({ type: 'nested', callId, subAgent: tool, event: { type: 'turn', message, usage, finish, startedAt, endedAt: now() } })
    return reply
  }
}
