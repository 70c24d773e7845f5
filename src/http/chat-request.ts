import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { isDeeper, maxJsonDepth } from '../json/shape.ts'
import { invalid, ServiceError, type Fault } from '../errors.ts'
import type { RequestedAttachments } from '../runs/attachments/attachments.ts'
import type { NewChat } from '../runs/new-chat.ts'
import type { ChatMessage, ChatRequest, Operation } from '../runs/run.ts'
import { contextHeaders, isId, traceparentOf } from './request-headers.ts'
import type { ChatBody } from './schemas.ts'

const roles = { user: 'user', human: 'user', assistant: 'assistant', ai: 'assistant', system: 'system' } as const

/** A chat body and its path in the request. */
export interface ChatSource {
  body: ChatBody
  /** Prefix of the `loc` of faults, such as `['body', 'data']`. */
  at: Fault['loc']
}

/** Converts a chat request to a `NewChat`. Throws for faults that a JSON schema cannot express. */
export function toNewChat(
  request: FastifyRequest,
  operation: Operation,
  maxInputCharacters: number,
  { body, at }: ChatSource = { body: request.body as ChatBody, at: ['body'] },
): NewChat {
  const messages = body.messages.map(({ role, content }): ChatMessage => ({ role: roles[role], content }))
  checkMessages(messages, at, maxInputCharacters)
  const filters = toFilters(body.data_filter_hints)
  const sessionId = sessionIdOf(request, { body, at })
  const onDisconnect = body.on_disconnect ?? 'cancel'
  const traceparent = traceparentOf(request)
  const { images, context_files: contextFiles } = body
  const attachments = images?.length || contextFiles?.length ? { images: images ?? [], contextFiles: contextFiles ?? [] } : undefined
  const identity = {
    messages,
    filters,
    sessionId: body.session_id,
    retain: body.auto_memory_retain,
    onDisconnect,
    ...digestOf(attachments),
  }
  return {
    requestId: request.id,
    sessionId,
    newSessionId: request.sessionId,
    operation,
    bodyHash: hashOf(identity, at),
    request: {
      messages,
      filters,
      headers: contextHeaders(request),
      ...(body.auto_memory_retain && { retain: true }),
      ...(traceparent !== undefined && { traceparent }),
    },
    ...(attachments ? { attachments } : {}),
    onDisconnect,
    at,
  }
}

/** Hash by which a repeated request id is compared. `identity` holds only the fields that are read, so that ignored fields may differ. */
export function hashOf(identity: object, at: Fault['loc']): string {
  if (isDeeper(identity, maxJsonDepth)) throw invalid(at, 'is nested too deeply')
  return hash('sha256', JSON.stringify(identity))
}

/** Images enter the hash of the request by their own hashes. */
function digestOf(attachments: RequestedAttachments | undefined): object {
  if (!attachments) return {}
  const { images, contextFiles } = attachments
  return { images: images.map(({ type, content }) => ({ type, content: hash('sha256', content) })), contextFiles }
}

function checkMessages(messages: readonly ChatMessage[], at: Fault['loc'], maxInputCharacters: number): void {
  const last = messages.length - 1
  if (messages[last]?.role !== 'user') throw invalid([...at, 'messages', last, 'role'], 'the last message must be of role user')
  const characters = messages.reduce((sum, message) => sum + message.content.length, 0)
  if (characters > maxInputCharacters) {
    throw new ServiceError(
      'input_too_large',
      `The messages must have at most ${maxInputCharacters} characters together, but have ${characters}.`,
    )
  }
}

/** The session id of the header, else of the body. */
function sessionIdOf(request: FastifyRequest, { body, at }: ChatSource): string | undefined {
  const header = request.headers['session-id']
  if (typeof header === 'string') return header
  const bodyId = body.session_id ?? undefined
  if (bodyId !== undefined && !isId(bodyId)) throw invalid([...at, 'session_id'], 'is not a valid id')
  return bodyId
}

export function toFilters(hints: ChatBody['data_filter_hints']): ChatRequest['filters'] {
  return (hints ?? []).map((hint) => ({
    tool: hint.tool_name,
    key: hint.filter_key,
    type: hint.filter_type,
    value: hint.filter_value,
  }))
}
