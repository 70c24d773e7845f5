import { setTimeout as wait } from 'node:timers/promises'
import {
  type EmbedOptions,
  ModelError,
  type Model,
  type ModelAttempt,
  type ModelCallTrace,
  type ModelMeter,
  type ModelReply,
  type ModelRequest,
  type ModelSink,
  type ModelUsage,
  type PaidAttempt,
  addUsage,
} from '../agent/model.ts'
import { toModelError, type Origin } from './failures.ts'
import { unseenIn, withoutUnseen, isBlank } from './fit-messages.ts'
import { reachState } from '../states.ts'
import type { Message } from '../agent/messages.ts'

export interface RetryOptions {
  /** Attempts per model. */
  attempts: number
  /** Waits `ms` milliseconds; rejects when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<unknown>
  /** Returns a number from 0 to 1, like `Math.random`. */
  random(): number
}

const firstDelayMs = 500
/** Longest `retry-after` to wait for. Above this limit the next model is used. */
const maxRetryAfterMs = 30_000

const defaults: RetryOptions = { attempts: 3, sleep: (ms, signal) => wait(ms, undefined, { signal }), random: Math.random }

/**
 * Combines several models. Each model gets a few attempts as long as its errors are retryable, then the next model is used. An answer without
 * content is a failure too. Throws the last `ModelError`, with the failures of all models in the message. Tokens of failed attempts are
 * unknown and not counted, except those of empty answers of the model that answers in the end.
 */
export function withRetry(models: readonly Model[], options: Partial<RetryOptions> = {}): Model {
  const { attempts, sleep, random } = { ...defaults, ...options }

  async function reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    const sent = { sink, hasEvents: false }
    const failures: ModelError[] = []
    let spent: ModelUsage[] | undefined
    for (const model of models) {
      const fitting = fitTo(model, request)
      if (fitting instanceof ModelError) {
        failures.push(fitting)
        continue
      }
      for (let count = 1; ; count++) {
        signal.throwIfAborted()
        const begun = beginAttempt(model, fitting, signal, sent)
        const attempt = begun instanceof Promise ? await begun : begun
        try {
          attempt.take(await model.reply(attempt.request, attempt.pass, signal))
        } catch (error) {
          attempt.fail(error, signal)
        } finally {
          attempt.end()
        }
        const { outcome } = attempt
        if (outcome.reply && !outcome.error) return spent ? withSpent(outcome.reply, spent) : outcome.reply
        const error = outcome.error!
        if (error instanceof EmptyAnswerError) (spent ??= []).push(error.usage)
        const delay = count < attempts ? delayMs(error, count, random) : undefined
        if (delay === undefined) {
          failures.push(error)
          break
        }
        reachState('model-retried')
        await sleep(delay, signal)
      }
    }
    reachState('models-failed')
    throw summary(failures)
  }

  const [primary] = models
  const readsFiles = (mediaType: string) => primary?.readsFiles?.(mediaType) ?? false
  return { name: primary?.name ?? '', seesImages: primary?.seesImages ?? false, readsFiles, reply }
}

/** The request without what a model cannot see; the failure of a model that cannot see the question. */
function fitTo(model: Model, request: ModelRequest): ModelRequest | ModelError {
  const hasMedia = request.messages.some(
    (message) => message.role !== 'assistant' && (message.images?.length || (message.role === 'user' && message.files?.length)),
  )
  if (!hasMedia) return request
  const unseen = unseenIn(request, model)
  return unseen === undefined ? withoutUnseen(request, model) : new ModelError('refused', `${model.name} cannot ${unseen}`)
}

/** The sink of a model call. `hasEvents` is true if the sink has text of an attempt that failed. */
interface Sent {
  readonly sink: ModelSink
  hasEvents: boolean
}

/** A promise only where text of a failed attempt is void, or a meter pays. */
function beginAttempt(model: Model, request: ModelRequest, signal: AbortSignal, sent: Sent): Attempt | Promise<Attempt> {
  return sent.hasEvents || request.meter ? beginPaid(model, request, signal, sent) : new Attempt(model, request, sent)
}

async function beginPaid(model: Model, request: ModelRequest, signal: AbortSignal, sent: Sent): Promise<Attempt> {
  if (sent.hasEvents) {
    sent.hasEvents = false
    reachState('model-broke-off')
    await sent.sink({ type: 'retrying' })
  }
  const { trace, meter, ...asked } = request
  const paid = meter && (await holdFor(meter, model, asked, trace))
  if (paid && signal.aborted) {
    paid.end({ error: new ModelError('unavailable', 'The request was not sent.', { isFree: true }) }, 0)
    signal.throwIfAborted()
  }
  return new Attempt(model, request, sent, paid)
}

/**
 * An attempt of a model call. Every attempt begins and ends here, for main models and `small` models, and that of an embedding call in
 * `embedOnce`.
 */
class Attempt {
  readonly request: ModelRequest
  outcome: Parameters<ModelAttempt['end']>[0] = {}
  private readonly model: Model
  private readonly sent: Sent
  private readonly paid: PaidAttempt | undefined
  private readonly traced: ModelAttempt | undefined
  private received = 0
  private hasProviderCalls = false

  constructor(model: Model, { trace, ...asked }: ModelRequest, sent: Sent, paid?: PaidAttempt) {
    this.model = model
    this.sent = sent
    this.paid = paid
    const onBroken = (characters: number) => (this.received = Math.max(this.received, characters))
    const plain = paid ? { ...paid.request, onBroken } : asked
    this.traced = trace?.attempt(model, plain, paid?.held)
    const traceparent = this.traced?.traceparent
    this.request = traceparent === undefined ? plain : { ...plain, traceparent }
  }

  readonly pass: ModelSink = (event) => {
    const { sent, paid, traced } = this
    this.hasProviderCalls ||= event.type === 'call_start'
    if (paid && 'text' in event) this.received += Buffer.byteLength(event.text)
    if (!sent.hasEvents) {
      sent.hasEvents = true
      traced?.onFirstEvent?.()
    }
    return sent.sink(event)
  }

  /** Accepts a reply. An answer without content is a failure. */
  take(reply: ModelReply): void {
    const hasContent = this.hasProviderCalls || /\S/.test(reply.text)
    const error = hasContent ? undefined : findEmptiness(this.model, reply, this.request.messages)
    this.outcome = error ? { reply, error } : { reply }
  }

  /** Accepts a failure; throws what is none of the model. */
  fail(error: unknown, signal: AbortSignal): void {
    if (signal.aborted || !(error instanceof ModelError)) throw error
    this.outcome = { error }
  }

  end(): void {
    const settled = this.paid?.end(this.outcome, this.received)
    this.traced?.end(this.outcome, settled)
  }
}

async function holdFor(meter: ModelMeter, model: Model, request: ModelRequest, trace: ModelCallTrace | undefined): Promise<PaidAttempt> {
  try {
    return await meter.hold(model, request)
  } catch (error) {
    trace?.refused?.(model, error)
    throw error
  }
}

interface EmbeddingLine {
  /** The name of the model, which has the price. */
  model: string
  origin: Origin
  /** Time limit of the call. */
  limitMs: number
}

/**
 * Makes the attempt of an embedding call, with the time limit of the call: an embedding call has a single attempt. `send` asks the provider, and
 * states the tokens that the provider counted. Throws a `ModelError`, also for an answer that does not have a vector for each text.
 */
export async function embedOnce(
  { model, origin, limitMs }: EmbeddingLine,
  texts: readonly string[],
  signal: AbortSignal,
  { meter, onTokens }: Pick<EmbedOptions, 'meter' | 'onTokens'>,
  send: (limited: AbortSignal, count: (tokens: number) => void) => Promise<unknown[]>,
): Promise<number[][]> {
  const paid = await meter?.holdTexts({ name: model, place: 'llms.embedding' }, texts)
  let tokens = 0
  let outcome: { tokens?: number; isFree?: boolean } = {}
  try {
    outcome = { isFree: signal.aborted }
    signal.throwIfAborted()
    const vectors = await send(AbortSignal.any([signal, AbortSignal.timeout(limitMs)]), (more) => {
      tokens += more
      onTokens?.(more)
    })
    outcome = tokens > 0 ? { tokens } : {}
    if (areVectors(vectors, texts.length)) return vectors
    throw new ModelError('unavailable', `${origin.label} returned no vectors, or a wrong number of vectors`)
  } catch (thrown) {
    signal.throwIfAborted()
    const error = toModelError(origin, thrown, false)
    if (error instanceof ModelError && error.isFree && tokens === 0) outcome = { isFree: true }
    throw error
  } finally {
    paid?.end(outcome.tokens, outcome.isFree)
  }
}

/** True if there is a vector for each text, and all vectors have the same length. */
function areVectors(vectors: readonly unknown[], count: number): vectors is number[][] {
  const [first] = vectors
  const length = Array.isArray(first) ? first.length : 0
  const isVector = (vector: unknown) => Array.isArray(vector) && vector.length === length && vector.every((value) => Number.isFinite(value))
  return vectors.length === count && length > 0 && vectors.every(isVector)
}

/** Milliseconds until the next attempt; undefined if another attempt cannot help or would come too late. */
function delayMs(error: ModelError, attempt: number, random: () => number): number | undefined {
  if (!error.isRetryable) return undefined
  const requestedMs = error.retryAfterMs ?? 0
  if (requestedMs > maxRetryAfterMs) return undefined
  // Half of the delay is random, so that calls that failed together are not retried together.
  const backoff = firstDelayMs * 2 ** (attempt - 1) * (0.5 + random() / 2)
  return Math.max(requestedMs, backoff)
}

function summary(failures: ModelError[]): ModelError {
  const last = failures.at(-1)
  if (!last) throw new Error('withRetry needs at least one model')
  if (failures.length === 1) return last
  const message = failures.map((failure) => failure.message).join('; ')
  return new ModelError(last.code, message, { cause: last, retryAfterMs: last.retryAfterMs })
}

/** A complete answer with neither text nor calls nor files. `usage` holds the tokens that the provider counted for it. */
class EmptyAnswerError extends ModelError {
  readonly usage: ModelUsage

  constructor(model: string, usage: ModelUsage) {
    super('unavailable', `${model} gave an empty answer`)
    this.usage = usage
  }
}

/**
 * The failure of a reply without text that ended regularly; undefined for a reply with calls or files, or with an end that explains itself.
 * After tool calls a model may end without a word if an earlier message of the turn holds its answer.
 */
function findEmptiness({ name }: Model, reply: ModelReply, messages: readonly Message[]): EmptyAnswerError | undefined {
  const { toolCalls, files, finish, usage } = reply
  const isRegular = finish === 'stop' || finish === 'tool_calls'
  if (!isRegular || toolCalls.length > 0 || files?.length || hasSpoken(messages)) return undefined
  return new EmptyAnswerError(name, usage)
}

/** True if the model has written a text since the last question. */
function hasSpoken(messages: readonly Message[]): boolean {
  const start = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(start + 1).some((message) => message.role === 'assistant' && !isBlank(message.text))
}

/** Adds the tokens of empty answers of the same model. Another model has other prices, so its tokens cannot be added. */
function withSpent(reply: ModelReply, spent: readonly ModelUsage[]): ModelReply {
  const usages = spent.filter(({ model, place }) => model === reply.usage.model && place === reply.usage.place)
  return usages.length > 0 ? { ...reply, usage: usages.reduce(addUsage, reply.usage) } : reply
}

/**
 * Asks again without a part of the request that the provider refuses and that the model can do without:
 * - Data of the provider, when the provider cannot read the data any more: OpenAI encrypts reasoning for an organisation, and Azure for a
 *   resource, so a second account with the same model cannot read the reasoning of the first.
 * - The provider's native form of a schema: servers know different parts of JSON Schema, or none. The system prompt describes the schema in
 *   any case, and the answer is validated.
 */
export function withRefusals(model: Model): Model {
  // Not an async function: its frame would take half a KB for each open stream.
  function reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    return model.reply(request, sink, signal).catch((error: unknown) => {
      const smaller = !signal.aborted && error instanceof ModelError && error.code === 'refused' ? toSmaller(request, error) : undefined
      if (!smaller) throw error
      return reply(smaller, sink, signal)
    })
  }

  return { ...model, reply }
}

function hasVendor(message: Message): boolean {
  return message.role === 'assistant' && message.vendor !== undefined
}

/** The words in which providers refuse their own signed or encrypted parts. */
const unreadable = /encrypted.content|signature|['"`](?:reasoning|(?:redacted_)?thinking)['"`]/i

/** The request without the refused part; undefined if nothing can be left out. */
function toSmaller(request: ModelRequest, { message }: ModelError): ModelRequest | undefined {
  if (unreadable.test(message) && request.messages.some(hasVendor)) return { ...request, messages: request.messages.map(withoutVendor) }
  const { responseSchema, ...plain } = request
  return responseSchema && plain
}

function withoutVendor(message: Message): Message {
  if (message.role !== 'assistant') return message
  const { vendor: _, ...rest } = message
  return rest
}
