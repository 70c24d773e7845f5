import { setTimeout as sleep } from 'node:timers/promises'
import type { CallToolResult, CreateMessageResult, ElicitResult, InputRequiredResult } from '@modelcontextprotocol/client'
import type { AssistantMessage, Image, JsonObject, JsonValue, UserMessage } from '../../agent/messages.ts'
import type { ModelReply } from '../../agent/model.ts'
import type { SampleRequest } from '../../agent/tool.ts'
import { withDefaults, type Question, Suspended } from '../../agent/approval.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { isDeeper, isObject } from '../../json/shape.ts'
import { toLine, toPlain } from '../plain-text.ts'
import { createCheckMaker } from './server-tool.ts'
import { limits, type Secrets } from './server.ts'

/** What the configuration allows a server to ask for during a call. */
export interface AllowedRequests {
  sampling: boolean
  elicitation: boolean
}

/** Answers to an input-required result (MCP 2026-07-28), sent with the repeated call. */
export interface Answers {
  inputResponses: Record<string, unknown>
  /** The server's own state, returned unchanged. */
  requestState?: string
}

interface RequestsOptions {
  /** Name of the entry. */
  entry: string
  allowed: AllowedRequests
  context: ToolContext
  secrets: Pick<Secrets, 'mask'>
}

/** The state of a suspended call. */
interface State {
  requestState?: string
  inputResponses: Record<string, JsonValue>
  /** The key of the server's request, and the schema of the answer, by the name of the question. */
  questions: Record<string, { key: string; schema?: JsonObject }>
  rounds: number
  samples: number
}

/** Answers what a server asks for during one call. */
export function createServerRequests({ entry, allowed, context, secrets }: RequestsOptions) {
  const earlier = context.resumed?.state as State | undefined
  let { rounds, samples } = earlier ?? { rounds: 0, samples: 0 }
  const notes: string[] = []

  /** Answers a sampling request of an older server. */
  async function sample(params: unknown, signal: AbortSignal): Promise<CreateMessageResult> {
    if (!allowed.sampling) throw new Error('The server asked the model, which its entry does not allow (sampling).')
    if (!context.sample) throw new Error('The server asked the model, which is possible in a chat only.')
    if (++samples > limits.samples) throw new Error(`The server asked the model more than ${limits.samples} times in one call.`)
    return toSampleResult(await context.sample(toSampleRequest(params), signal))
  }

  /** Cancels a question of an older server, which can wait only as long as its connection. */
  function cancelQuestion(params: unknown): ElicitResult {
    const { message } = Object(params) as Record<string, unknown>
    const text = toLine(typeof message === 'string' ? secrets.mask(message) : '', limits.questionCharacters)
    notes.push(
      `[The server asked: "${text}". The question was not shown to a person and was cancelled. Ask the user in your answer if it matters.]`,
    )
    return { action: 'cancel' }
  }

  /** Answers an input-required result. Throws `Suspended` when the caller of the run has to answer. */
  async function answer({ inputRequests = {}, requestState }: InputRequiredResult): Promise<Answers> {
    const requests = Object.entries(inputRequests)
    if (++rounds > limits.inputRounds || requests.length > limits.inputRequests) throw new Error('The server asked for too much input.')
    const state: State = { inputResponses: {}, questions: {}, rounds, samples, ...(requestState !== undefined && { requestState }) }
    const questions: Question[] = []
    for (const [key, request] of requests) {
      const { method, params } = Object(request) as Record<string, unknown>
      if (method === 'sampling/createMessage') state.inputResponses[key] = toJson(await sample(params, context.signal))
      else if (method !== 'elicitation/create' || !allowed.elicitation)
        throw new Error(`The server asked for ${toLine(String(method), 60)}, which its entry does not allow.`)
      else if (!context.maySuspend) state.inputResponses[key] = toJson(cancelQuestion(params))
      else {
        const question = toQuestion(`${rounds}_${questions.length + 1}`, entry, secrets.mask(params))
        const { answer_schema: schema } = question.input
        questions.push(question)
        state.questions[question.name] = { key, ...(isObject(schema) && { schema: schema }) }
      }
    }
    if (questions.length > 0) throw new Suspended(toJson({ ...state, samples }), questions)
    // A result without requests asks to repeat the call later.
    if (requests.length === 0) await sleep(limits.repeatMs, undefined, { signal: context.signal })
    return toAnswers(state)
  }

  /** The answers with which a suspended call goes on; undefined for a new call. */
  function resumed(): Answers | undefined {
    if (!earlier || !context.resumed) return undefined
    const { questions, inputResponses } = earlier
    const given = Object.entries(questions).map(([name, { key, schema }]) => {
      const decision = context.resumed?.answerTo(name)
      if (decision?.decision !== 'approve') return [key, { action: 'decline' }]
      return [key, { action: 'accept', ...(schema && { content: withDefaults(schema, decision.input ?? {}) }) }]
    })
    return toAnswers({ ...earlier, inputResponses: { ...inputResponses, ...Object.fromEntries(given) } })
  }

  /** Adds to a result, for the model, which questions were not asked. */
  function withNotes(result: CallToolResult): CallToolResult {
    if (notes.length === 0) return result
    return { ...result, content: [...result.content, ...notes.map((text) => ({ type: 'text' as const, text }))] }
  }

  return { resumed, answer, sample, cancelQuestion, withNotes }
}

export type ServerRequests = ReturnType<typeof createServerRequests>

function toAnswers({ inputResponses, requestState }: Pick<State, 'inputResponses' | 'requestState'>): Answers {
  return { inputResponses, ...(requestState !== undefined && { requestState }) }
}

/** Values of the protocol are JSON; undefined members are dropped. */
function toJson(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}

/**
 * An elicitation request (MCP 2025-06-18 and later) as a question to the caller: `{server, question, answer_schema}` for a form, or
 * `{server, question, url}` for a page that the caller visits. Throws for a request that cannot be shown.
 */
function toQuestion(name: string, server: string, params: unknown): Question {
  const { mode = 'form', message, requestedSchema, url } = Object(params) as Record<string, unknown>
  const question = toPlain(typeof message === 'string' ? message : '', limits.questionCharacters)
  if (mode === 'url') {
    if (typeof url !== 'string' || url.length > limits.questionCharacters || !URL.canParse(url) || !isVisitable(new URL(url)))
      throw new Error('The server asked to open an address that is not an https address without a user name.')
    return { name, input: { server, question, url: new URL(url).href } }
  }
  if (mode !== 'form') throw new Error('The server asked a question of an unknown kind.')
  return { name, input: { server, question, answer_schema: toAnswerSchema(requestedSchema) } }
}

/** True for an address that a person may be sent to: `https`, or `http` on the person's own machine. A user name would hide the host. */
function isVisitable({ protocol, hostname, username, password }: URL): boolean {
  const isLocal = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
  return username === '' && password === '' && (protocol === 'https:' || (protocol === 'http:' && isLocal))
}

function toAnswerSchema(schema: unknown): JsonObject {
  const isFit = isObject(schema) && !isDeeper(schema, limits.schemaDepth) && JSON.stringify(schema).length <= limits.schemaCharacters
  if (!isFit) throw new Error('The server asked a question without a usable schema for the answer.')
  createCheckMaker()(schema)
  return schema as JsonObject
}

/**
 * The parameters of a sampling request for the model of the run, within limits. `includeContext` has no effect: the server never gets
 * the messages of the run. Throws for audio, tools, and requests that are too long.
 */
function toSampleRequest(params: unknown): SampleRequest {
  const { messages, systemPrompt, maxTokens, tools } = Object(params) as Record<string, unknown>
  if (Array.isArray(tools) && tools.length > 0) throw new Error('Sampling with tools is not supported.')
  if (!Array.isArray(messages) || messages.length === 0) throw new Error('The sampling request has no messages.')
  const system = typeof systemPrompt === 'string' ? systemPrompt : ''
  const request = messages.map(toMessage)
  const characters = request.reduce((sum, message) => sum + message.text.length, system.length)
  if (characters > limits.sampleCharacters) throw new Error(`The sampling request has more than ${limits.sampleCharacters} characters.`)
  const wanted = typeof maxTokens === 'number' && maxTokens >= 1 ? Math.floor(maxTokens) : limits.sampleTokens
  return { system, messages: request, maxOutputTokens: Math.min(wanted, limits.sampleTokens) }
}

function toSampleResult({ text, usage, finish }: ModelReply): CreateMessageResult {
  const stopReason = finish === 'length' ? 'maxTokens' : 'endTurn'
  return { role: 'assistant', model: usage.model, content: { type: 'text', text }, stopReason }
}

function toMessage(message: unknown): UserMessage | AssistantMessage {
  const { role, content } = Object(message) as Record<string, unknown>
  const blocks = (Array.isArray(content) ? content : [content]).filter(isObject)
  const unknown = blocks.find(({ type }) => type !== 'text' && type !== 'image')
  if (blocks.length === 0 || unknown) throw new Error('A message of the sampling request has content other than text and images.')
  const text = blocks.flatMap(({ text: part }) => (typeof part === 'string' ? [part] : [])).join('\n')
  if (role === 'assistant') return { role, text, toolCalls: [] }
  const images = blocks.flatMap(({ data, mimeType }): Image[] =>
    typeof data === 'string' && typeof mimeType === 'string' ? [{ mediaType: mimeType, data }] : [],
  )
  return { role: 'user', text, ...(images.length > 0 && { images }) }
}
