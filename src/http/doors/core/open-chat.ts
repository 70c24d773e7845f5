import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { OnSession } from '../../../runs/intake/open.ts'
import type { ChatEvent } from '../../../runs/ownership/async-runs.ts'
import type { Runs } from '../../../runs/runs.ts'
import type { ChatRequest, Operation, ChatMessage, Unstored } from '../../../runs/run.ts'
import { principalOf } from '../../server/authenticate.ts'
import { openForReply, type Exchange, type Opening, type ReaderServices } from '../../reader.ts'
import { isId, setSessionId, contextHeaders, traceparentOf } from '../../server/request-headers.ts'
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { isDeeper, maxJsonDepth } from '../../../json/shape.ts'
import type { JsonObject, JsonSchema } from '../../../agent/messages.ts'
import { invalid, ServiceError, type Fault } from '../../../errors.ts'
import type { RequestedAttachments } from '../../../runs/attachments/attachments.ts'
import type { SentFile } from '../../../runs/attachments/sent-files.ts'
import type { ClientTool } from '../../../agent/run-tool.ts'
import type { ModelOptions } from '../../../agent/model.ts'
import type { NewChat, ToolLoc } from '../../../runs/new-chat.ts'
import { timesOfNewRun } from '../../server/server-timing.ts'
import { chatRoles, toFilters, type ChatBody, type SteeredChat } from '../../schemas/chat.ts'
import { messageLimits } from '../../../runs/steering/run-messages.ts'

/** Services of every route that starts chats. */
export interface ChatServices extends ReaderServices {
  runs: Runs
  agent: CurrentAgent
}

interface ChatOptions extends Exchange {
  operation: Operation
  /** Default: the whole request body. */
  source?: ChatSource
}

/**
 * Starts the run of a chat request, or joins the run of an earlier request with the same id. A repeated request takes the session of the first
 * request.
 */
export function openChat({ runs, agent, artifacts }: ChatServices, { request, reply, operation, source }: ChatOptions): Opening {
  let chat: NewChat
  try {
    chat = toNewChat(agent, request, operation, source)
  } catch (error) {
    return { chat: Promise.reject(error) }
  }
  // No earlier request can have a request id that the service has just made, so the session cannot change.
  const isSettled = chat.sessionId !== undefined || !isId(request.headers['request-id'])
  const settling = isSettled ? undefined : Promise.withResolvers<void>()
  const onSession = settleWith({ request, reply, settle: settling?.resolve })
  const opened = openForReply({ artifacts }, { request, reply }, (disconnected) =>
    runs.open(principalOf(request), chat, disconnected, onSession),
  )
  return settling ? { chat: opened, settled: settling.promise } : { chat: opened }
}

/**
 * Acts for a chat whose session may have a run, before the chat begins. Resolves to the reply to a chat that has become a message to this run.
 * `event`: present for an async chat.
 */
export async function whenBusy(
  { runs }: Pick<ChatServices, 'runs'>,
  request: FastifyRequest,
  { body, at, event }: BusySource = { body: request.body as ChatBody, at: ['body'] },
): Promise<Static<typeof SteeredChat> | undefined> {
  const { on_busy: onBusy, messages } = body
  const text = messages.at(-1)?.content ?? ''
  if (onBusy === 'steer') refuseUnsteerable(body, text, at)
  const sessionId = sessionIdOf(request, { body, at })
  if (!onBusy || sessionId === undefined) return undefined
  const { tenant, owner } = principalOf(request)
  const steered = await runs.whenBusy({ tenant, owner, requestId: request.id, sessionId, onBusy, text, event })
  return steered && { request_id: steered.requestId, message_id: steered.messageId, position: steered.position }
}

interface BusySource extends Pick<ChatSource, 'at'> {
  body: ChatBody & { callback_url?: unknown; callback_events?: unknown }
  event?: ChatEvent
}

/** Fields that a message to a run, which is a text, would lose. */
const unsteerable = [
  'images',
  'context_files',
  'client_tools',
  'response_schema',
  'data_filter_hints',
  'callback_url',
  'callback_events',
] as const

function refuseUnsteerable(body: BusySource['body'], text: string, at: Fault['loc']): void {
  const last = body.messages.length - 1
  const textAt = [...at, 'messages', last, 'content']
  if (text.trim() === '') throw invalid(textAt, 'must have a text: a message to a run is a text')
  // Characters are code points, as in the schema of messages to runs.
  if (text.length > 2 * messageLimits.characters || Array.from(text).length > messageLimits.characters)
    throw invalid(textAt, `must NOT have more than ${messageLimits.characters} characters`, 'maxLength')
  if (chatRoles[body.messages[last]!.role] !== 'user')
    throw invalid([...at, 'messages', last, 'role'], 'the last message must be of role user')
  for (const field of unsteerable) {
    const value = body[field]
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue
    throw invalid([...at, field], 'cannot be sent with on_busy `steer`: a message to a run is a text')
  }
}

/** A top-level function, so that the closure does not keep the body alive. */
function settleWith({ request, reply, settle }: Exchange & { settle: (() => void) | undefined }): OnSession {
  return (sessionId) => {
    setSessionId(request, reply, sessionId)
    settle?.()
  }
}

/** A chat body and its path in the request. */
export interface ChatSource {
  body: ChatBody
  /** Prefix of the `loc` of faults, such as `['body', 'data']`. */
  at: Fault['loc']
  /** Location of the schema of the answer, where it is another than `response_schema`. */
  schemaAt?: Fault['loc'] | undefined
  /** Files beside the images and context files of the body. */
  sentFiles?: readonly SentFile[] | undefined
  /** Instructions for this run alone, which are not stored with the session. */
  instructions?: string | undefined
  /** Replaces the messages of the body: they may have calls. */
  messages?: ChatMessage[] | undefined
  /** Assistant messages with calls behind the last message. */
  continuation?: ChatMessage[] | undefined
  /** Position of a field of a client tool; default: in `client_tools` of the body. */
  toolLoc?: ToolLoc
  modelOptions?: ModelOptions | undefined
  /** True for clients that do not say when they give up: `limits.client_tool_wait` limits the wait for them. */
  hasShortWait?: boolean
  /** What the route repeats in later answers about the run. */
  echo?: JsonObject | undefined
  /** As in `NewChat`. */
  afterMessages?: number | undefined
  /** As in `NewChat`. */
  unstored?: Unstored | undefined
}

/** Converts a chat request to a `NewChat`. Throws for faults that a JSON schema cannot express. */
export function toNewChat(
  agent: CurrentAgent,
  request: FastifyRequest,
  operation: Operation,
  source: ChatSource = { body: request.body as ChatBody, at: ['body'] },
): NewChat {
  const { body, at, schemaAt, toolLoc, continuation, instructions, sentFiles, echo, afterMessages, unstored } = source
  const messages = source.messages ?? body.messages.map(({ role, content }): ChatMessage => ({ role: chatRoles[role], content }))
  const last = messages.length - 1
  if (messages[last]?.role !== 'user') throw invalid([...at, 'messages', last, 'role'], 'the last message must be of role user')
  checkInputSize(agent, [...messages, ...(continuation ?? [])], instructions)
  const { response_schema: responseSchema, reasoning_effort: reasoningEffort } = body
  const modelOptions = reasoningEffort ? { ...source.modelOptions, reasoningEffort } : source.modelOptions
  const filters = body.data_filter_hints ? toFilters(body.data_filter_hints) : []
  const sessionId = sessionIdOf(request, { body, at })
  const onDisconnect = body.on_disconnect ?? 'cancel'
  const traceparent = traceparentOf(request)
  const { images, context_files: contextFiles } = body
  const clientTools = body.client_tools?.length ? toClientTools(body.client_tools, source) : undefined
  const hasAttachments = images?.length || contextFiles?.length || sentFiles?.length
  const attachments = hasAttachments ? { images: images ?? [], contextFiles: contextFiles ?? [], sentFiles: sentFiles ?? [] } : undefined
  const identity = {
    messages,
    continuation,
    filters,
    sessionId: body.session_id,
    retain: body.auto_memory_retain,
    onDisconnect,
    responseSchema,
    instructions,
    clientTools,
    modelOptions,
    // The time differs between repeats.
    echo: echo && { ...echo, created: undefined },
    ...(attachments && digestOf(attachments)),
  }
  const content: ChatRequest = { messages, filters, headers: contextHeaders(request) }
  if (continuation) content.continuation = continuation
  if (responseSchema !== undefined) content.responseSchema = responseSchema
  if (instructions !== undefined) content.instructions = instructions
  if (clientTools) content.clientTools = clientTools
  if (clientTools && source.hasShortWait) content.hasShortWait = true
  if (modelOptions) content.modelOptions = modelOptions
  if (echo) content.echo = echo
  if (body.auto_memory_retain) content.retain = true
  if (traceparent !== undefined) content.traceparent = traceparent
  return {
    requestId: request.id,
    sessionId,
    newSessionId: request.sessionId,
    operation,
    bodyHash: hashOf(identity, at),
    request: content,
    attachments,
    onDisconnect,
    times: timesOfNewRun(request),
    afterMessages,
    rejectsBusy: body.on_busy === 'reject' ? true : undefined,
    unstored,
    at,
    toolLoc,
    schemaLoc: schemaAt,
  }
}

/** Names of the schema of the input in the tools of other APIs. */
const namesElsewhere = ['parameters', 'inputSchema', 'input_schema']

function toClientTools(tools: NonNullable<ChatBody['client_tools']>, { at, toolLoc }: Pick<ChatSource, 'at' | 'toolLoc'>): ClientTool[] {
  const schemaLoc = (index: number) => toolLoc?.(index, 'schema') ?? [...at, 'client_tools', index, 'schema']
  return tools.map((tool, index) => {
    const { name, description, schema } = tool
    const nameElsewhere = schema === undefined ? namesElsewhere.find((field) => field in tool) : undefined
    if (nameElsewhere)
      throw invalid([...at, 'client_tools', index, nameElsewhere], 'is not known: the JSON Schema of the input is `schema`')
    const { type = 'object', ...rest } = (schema ?? {}) as JsonSchema
    if (type !== 'object') throw invalid([...schemaLoc(index), 'type'], 'must be object: the input of a tool is an object')
    return { name, description: description ?? '', schema: { type, ...rest } }
  })
}

/** Hash by which a repeated request id is compared. `identity` holds only the fields that are read, so that ignored fields may differ. */
export function hashOf(identity: object, at: Fault['loc']): string {
  if (isDeeper(identity, maxJsonDepth)) throw invalid(at, 'is nested too deeply')
  return hash('sha256', JSON.stringify(identity))
}

/** The bytes of images and files enter the hash of the request by their own hashes. */
function digestOf({ images, contextFiles, sentFiles = [] }: RequestedAttachments): object {
  return {
    images: images.map(({ type, content }) => ({ type, content: hash('sha256', content) })),
    contextFiles,
    // Requests of clients without such files keep the hash of earlier versions.
    ...(sentFiles.length > 0 ? { sentFiles: sentFiles.map(toIdentity) } : {}),
  }
}

/** Whether a file belongs to an earlier message follows from the messages. */
function toIdentity(file: SentFile): object {
  return { ...file, isEarlier: undefined, ...('content' in file && { content: hash('sha256', file.content) }) }
}

/** Throws `input_too_large` for messages that are longer than a chat may send. */
export function checkInputSize(agent: CurrentAgent, messages: readonly ChatMessage[], instructions?: string): void {
  const { max_input_characters: maxInputCharacters } = agent().config.limits
  let characters = instructions?.length ?? 0
  for (const { content, calls = [] } of messages) {
    characters += content.length
    for (const call of calls) characters += call.arguments.length + call.result.length
  }
  if (characters > maxInputCharacters) {
    throw new ServiceError(
      'input_too_large',
      `The messages must have at most ${maxInputCharacters} characters together, but have ${characters}.`,
    )
  }
}

/** The session id of the header, else of the body. */
export function sessionIdOf(request: FastifyRequest, { body, at }: Pick<ChatSource, 'body' | 'at'>): string | undefined {
  const header = request.headers['session-id']
  if (typeof header === 'string') return header
  const bodyId = body.session_id ?? undefined
  if (bodyId !== undefined && !isId(bodyId)) throw invalid([...at, 'session_id'], 'is not a valid id')
  return bodyId
}
