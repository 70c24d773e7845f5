import { setTimeout as wait } from 'node:timers/promises'
import {
  ModelError,
  type Model,
  type ModelAttempt,
  type ModelReply,
  type ModelRequest,
  type ModelSink,
  type ModelUsage,
} from '../agent/model.ts'
import { EmptyAnswerError, findEmptiness, withSpent } from './empty-answers.ts'
import { unseenIn, withoutUnseen } from './unseen-media.ts'
import { reachState } from '../states.ts'

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
    const spent: ModelUsage[] = []
    const failures: ModelError[] = []
    for (const model of models) {
      const unseen = unseenIn(request, model)
      if (unseen !== undefined) {
        failures.push(new ModelError('refused', `${model.name} cannot ${unseen}`))
        continue
      }
      const fitting = withoutUnseen(request, model)
      for (let attempt = 1; ; attempt++) {
        signal.throwIfAborted()
        const outcome = await tryOnce(model, fitting, signal, sent)
        if (!(outcome instanceof ModelError)) return withSpent(outcome, spent)
        if (outcome instanceof EmptyAnswerError) spent.push(outcome.usage)
        const delay = attempt < attempts ? delayMs(outcome, attempt, random) : undefined
        if (delay === undefined) {
          failures.push(outcome)
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

/** Makes an attempt and returns the reply or the failure. `sent.hasEvents` is true if the sink has text of an attempt that failed. */
async function tryOnce(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  sent: { readonly sink: ModelSink; hasEvents: boolean },
): Promise<ModelReply | ModelError> {
  if (sent.hasEvents) {
    sent.hasEvents = false
    reachState('model-broke-off')
    await sent.sink({ type: 'retrying' })
  }
  const { trace, ...plain } = request
  const attempt = trace?.attempt(model, plain)
  let outcome: Parameters<ModelAttempt['end']>[0] = {}
  let hasProviderCalls = false
  const pass: ModelSink = (event) => {
    hasProviderCalls ||= event.type === 'call_start'
    if (!sent.hasEvents) {
      sent.hasEvents = true
      attempt?.onFirstEvent?.()
    }
    return sent.sink(event)
  }
  try {
    const reply = await model.reply(
      attempt?.traceparent === undefined ? plain : { ...plain, traceparent: attempt.traceparent },
      pass,
      signal,
    )
    const error = hasProviderCalls ? undefined : findEmptiness(model, reply, request.messages)
    outcome = { reply, ...(error && { error }) }
    return error ?? reply
  } catch (error) {
    if (signal.aborted || !(error instanceof ModelError)) throw error
    outcome = { error }
    return error
  } finally {
    attempt?.end(outcome)
  }
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
