import type { JsonObject, Message } from '../../../agent/messages.ts'
import { fieldsOf, parseJson } from '../../../json/shape.ts'
import { toGeneratedArtifact } from '../../../sessions/sessions.ts'
import type { UsageEntry } from '../../../sessions/message.ts'
import type { PlacedMessage } from '../../../sessions/session-store.ts'
import { tokensSince } from '../model-apis/output.ts'

/** Messages of sessions in the form of LangChain. Ids are derived from runs, calls and places, so that nothing is stored twice. */

export interface LangChainCall {
  type: 'tool_call'
  id: string
  name: string
  args: JsonObject
}

export interface AiMessage extends Base {
  type: 'ai'
  tool_calls: LangChainCall[]
  invalid_tool_calls: []
  usage_metadata: { input_tokens: number; output_tokens: number; total_tokens: number } | null
}

export type LangChainMessage =
  | (Base & { type: 'human' })
  | (Base & { type: 'tool'; name: string; tool_call_id: string; status: 'success' | 'error' })
  | AiMessage

interface Base {
  id: string
  content: string
  additional_kwargs: object
  response_metadata: object
}

const noExtras = { additional_kwargs: {}, response_metadata: {} }

export function toHuman(id: string, content: string): LangChainMessage {
  return { type: 'human', id, content, ...noExtras }
}

/** `number`: counts the messages of the model in a run from 0. */
export function toAi(requestId: string, number: number, content: string, calls: LangChainCall[] = []): AiMessage {
  return { type: 'ai', id: `${requestId}:${number}`, content, ...noExtras, tool_calls: calls, invalid_tool_calls: [], usage_metadata: null }
}

export function toToolMessage(callId: string, name: string, content: string, isError: boolean): LangChainMessage {
  const status = isError ? 'error' : 'success'
  return { type: 'tool', id: `tool:${callId}`, content, ...noExtras, name, tool_call_id: callId, status }
}

export function toCall(id: string, name: string, args: JsonObject): LangChainCall {
  return { type: 'tool_call', id, name, args }
}

/** The last message of an answer also says what the run has used and made. */
export function toAnswer(
  message: AiMessage,
  finish: string | undefined,
  usage: readonly UsageEntry[],
  files: readonly object[],
): AiMessage {
  const { input, output, total } = tokensSince([], usage)
  return {
    ...message,
    additional_kwargs: files.length > 0 ? { generated_artifacts: files } : {},
    response_metadata: finish === undefined ? {} : { finish_reason: finish },
    usage_metadata: total > 0 ? { input_tokens: input, output_tokens: output, total_tokens: total } : null,
  }
}

/** The messages of a session; an answer with tool calls is several. */
export function toLangChainMessages(messages: readonly PlacedMessage[]): LangChainMessage[] {
  return messages.flatMap((message) => toMessages(message))
}

/** The time is a part of the id: an edited question has the place of another question. */
export function toMessages(message: PlacedMessage): LangChainMessage[] {
  const { index, role, content, createdAt, data } = message
  return role === 'human' ? [toHuman(data?.messageId ?? `human:${index}:${createdAt}`, content)] : toTurn(message)
}

function toTurn({ content, data, index }: PlacedMessage): LangChainMessage[] {
  const requestId = data?.requestId ?? `brought:${index}`
  const steps = toSteps(requestId, data?.transcript ?? [])
  const number = steps.filter(({ type }) => type === 'ai').length
  const files = (data?.artifacts ?? []).map(toGeneratedArtifact)
  return [...steps, toAnswer(toAi(requestId, number, content), data?.finishReason, data?.usage ?? [], files)]
}

/** Messages with calls, and the results. The last text of a transcript is the content of the session message. */
function toSteps(requestId: string, transcript: readonly Message[]): LangChainMessage[] {
  let number = 0
  return transcript.flatMap((message): LangChainMessage[] => {
    if (message.role === 'tool') return [toToolMessage(message.callId, message.name, message.text, message.isError)]
    if (message.role === 'user' || message.toolCalls.length === 0) return []
    const calls = message.toolCalls.map(({ id, name, arguments: text }) => toCall(id, name, fieldsOf(parseJson(text)) as JsonObject))
    return [toAi(requestId, number++, message.text, calls)]
  })
}
