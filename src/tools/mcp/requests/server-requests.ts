import { setTimeout as sleep } from 'node:timers/promises'
import type { CallToolResult, CreateMessageResult, ElicitResult, InputRequiredResult } from '@modelcontextprotocol/client'
import type { JsonObject, JsonValue } from '../../../agent/messages.ts'
import { Suspended, withDefaults, type Question } from '../../../agent/suspension.ts'
import type { ToolContext } from '../../../agent/tool.ts'
import { isObject } from '../../../json/shape.ts'
import { limits } from '../limits.ts'
import { toLine } from '../../plain-text.ts'
import type { Secrets } from '../secrets.ts'
import { toQuestion } from './question.ts'
import { toSampleRequest, toSampleResult } from './sample.ts'

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

/** Answers what a server asks for during one call. */
export interface ServerRequests {
  /** The answers with which a suspended call goes on; undefined for a new call. */
  resumed(): Answers | undefined
  /** Answers an input-required result. Throws `Suspended` when the caller of the run has to answer. */
  answer(result: InputRequiredResult): Promise<Answers>
  /** Answers a sampling request of an older server. */
  sample(params: unknown, signal: AbortSignal): Promise<CreateMessageResult>
  /** Cancels a question of an older server, which can wait only as long as its connection. */
  cancelQuestion(params: unknown): ElicitResult
  /** Adds to a result, for the model, which questions were not asked. */
  withNotes(result: CallToolResult): CallToolResult
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

export function createServerRequests({ entry, allowed, context, secrets }: RequestsOptions): ServerRequests {
  const earlier = context.resumed?.state as State | undefined
  let { rounds, samples } = earlier ?? { rounds: 0, samples: 0 }
  const notes: string[] = []

  async function sample(params: unknown, signal: AbortSignal): Promise<CreateMessageResult> {
    if (!allowed.sampling) throw new Error('The server asked the model, which its entry does not allow (sampling).')
    if (!context.sample) throw new Error('The server asked the model, which is possible in a chat only.')
    if (++samples > limits.samples) throw new Error(`The server asked the model more than ${limits.samples} times in one call.`)
    return toSampleResult(await context.sample(toSampleRequest(params), signal))
  }

  function cancelQuestion(params: unknown): ElicitResult {
    const { message } = Object(params) as Record<string, unknown>
    const text = toLine(typeof message === 'string' ? secrets.mask(message) : '', limits.questionCharacters)
    notes.push(
      `[The server asked: "${text}". The question was not shown to a person and was cancelled. Ask the user in your answer if it matters.]`,
    )
    return { action: 'cancel' }
  }

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

  function withNotes(result: CallToolResult): CallToolResult {
    if (notes.length === 0) return result
    return { ...result, content: [...result.content, ...notes.map((text) => ({ type: 'text' as const, text }))] }
  }

  return { resumed, answer, sample, cancelQuestion, withNotes }
}

function toAnswers({ inputResponses, requestState }: Pick<State, 'inputResponses' | 'requestState'>): Answers {
  return { inputResponses, ...(requestState !== undefined && { requestState }) }
}

/** Values of the protocol are JSON; undefined members are dropped. */
function toJson(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}
