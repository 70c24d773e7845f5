import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { isDeeper, maxJsonDepth } from '../agent/json-depth.ts'
import { invalid, ServiceError, type Fault } from '../errors.ts'
import type { GivenAttachments } from '../runs/attachments/attachments.ts'
import type { NewChat } from '../runs/new-chat.ts'
import type { ChatMessage, ChatRequest, Operation } from '../runs/run.ts'
import { isId } from './ids.ts'
import type { ChatBody } from './schemas.ts'
import { traceparentOf } from './traceparent.ts'

const roles = { user: 'user', human: 'user', assistant: 'assistant', ai: 'assistant', system: 'system' } as const

/** Where a chat stands in its request. */
export interface ChatSource {
  body: ChatBody
  at: Fault['loc']
}

/** A chat request as the runs take it; refuses what its schema can't. */
export function toNewChat(
  request: FastifyRequest,
  operation: Operation,
  maxInputCharacters: number,
  { body, at }: ChatSource = { body: request.body as ChatBody, at: ['body'] },
): NewChat {
  const messages = body.messages.map(({ role, content }): ChatMessage => ({ role: roles[role], content }))
  refuseUnfit(messages, at, maxInputCharacters)
  const filters = toFilters(body.data_filter_hints)
  const sessionId = sessionIdOf(request, { body, at })
  const onDisconnect = body.on_disconnect ?? 'cancel'
  const traceparent = traceparentOf(request)
  const { images, context_files: contextFiles } = body
  const attachments = images?.length || contextFiles?.length ? { images: images ?? [], contextFiles: contextFiles ?? [] } : undefined
  const read = { messages, filters, sessionId: body.session_id, retain: body.auto_memory_retain, onDisconnect, ...digestOf(attachments) }
  return {
    requestId: request.id,
    sessionId,
    newSessionId: request.sessionId,
    operation,
    bodyHash: hashOf(read, at),
    request: {
      ...{ messages, filters, headers: contextHeaders(request) },
      ...(body.auto_memory_retain && { retain: true }),
      ...(traceparent !== undefined && { traceparent }),
    },
    ...(attachments ? { attachments } : {}),
    onDisconnect,
    at,
  }
}

/** What tells a repeated request from another: of what is read alone, since ignored fields may be anything. */
export function hashOf(read: object, at: Fault['loc']): string {
  if (isDeeper(read, maxJsonDepth)) throw invalid(at, 'is nested too deeply')
  return hash('sha256', JSON.stringify(read))
}

/** Megabytes of an image count by their hash. */
function digestOf(attachments: GivenAttachments | undefined): object {
  if (!attachments) return {}
  const { images, contextFiles } = attachments
  return { images: images.map(({ type, content }) => ({ type, content: hash('sha256', content) })), contextFiles }
}

function refuseUnfit(messages: readonly ChatMessage[], at: Fault['loc'], maxInputCharacters: number): void {
  const last = messages.length - 1
  if (messages[last]?.role !== 'user') throw invalid([...at, 'messages', last, 'role'], 'the last message must be of role user')
  const characters = messages.reduce((sum, message) => sum + message.content.length, 0)
  if (characters > maxInputCharacters) {
    throw new ServiceError('input_too_large', `The messages have ${characters} characters; at most ${maxInputCharacters} are taken.`)
  }
}

/** The header wins over the body. */
function sessionIdOf(request: FastifyRequest, { body, at }: ChatSource): string | undefined {
  const header = request.headers['session-id']
  if (typeof header === 'string') return header
  const inBody = body.session_id ?? undefined
  if (inBody !== undefined && !isId(inBody)) throw invalid([...at, 'session_id'], 'is not a valid id')
  return inBody
}

export function toFilters(hints: ChatBody['data_filter_hints']): ChatRequest['filters'] {
  return (hints ?? []).map((hint) => ({
    tool: hint.tool_name,
    key: hint.filter_key,
    type: hint.filter_type,
    value: hint.filter_value,
  }))
}

/** Headers whose name starts with `stix`: context for tools. */
export function contextHeaders({ headers }: FastifyRequest): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name in headers) {
    if (name.startsWith('stix')) found[name] = String(headers[name])
  }
  return found
}
