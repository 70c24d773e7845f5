import { setTimeout as wait } from 'node:timers/promises'
import { ModelError, type Model, type ModelAttempt, type ModelEvent, type ModelReply, type ModelRequest } from '../agent/model.ts'
import { showsImages, withoutImages } from './unseen-images.ts'

export interface RetryOptions {
  /** Tries per model. */
  attempts: number
  /** Waits; rejects when the signal is aborted. Milliseconds. */
  sleep(ms: number, signal: AbortSignal): Promise<unknown>
  /** From 0 to 1, as `Math.random`. */
  random(): number
}

const firstDelayMs = 500
/** Who waits longer for a provider than this is better served by another. */
const maxRetryAfterMs = 30_000

const defaults: RetryOptions = { attempts: 3, sleep: (ms, signal) => wait(ms, undefined, { signal }), random: Math.random }

/**
 * One `Model` of several, tried in order: each a few times where trying again may help, then the next. Throws the last `ModelError`,
 * which names how each model failed. Tokens of failed attempts are unknown and not counted.
 */
export function withRetry(models: readonly Model[], options: Partial<RetryOptions> = {}): Model {
  const { attempts, sleep, random } = { ...defaults, ...options }

  async function* reply(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelReply> {
    const sent = { any: false }
    const failures: ModelError[] = []
    for (const model of models) {
      if (!model.seesImages && showsImages(request)) {
        failures.push(new ModelError('refused', `${model.name} can't see images`))
        continue
      }
      const fitting = model.seesImages ? request : withoutImages(request)
      for (let attempt = 1; ; attempt++) {
        signal.throwIfAborted()
        const outcome = yield* tryOnce(model, fitting, signal, sent)
        if (!(outcome instanceof ModelError)) return outcome
        const delay = attempt < attempts ? delayMs(outcome, attempt, random) : undefined
        if (delay === undefined) {
          failures.push(outcome)
          break
        }
        await sleep(delay, signal)
      }
    }
    throw summary(failures)
  }

  return { name: models[0]?.name ?? '', seesImages: models[0]?.seesImages ?? false, reply }
}

/** One attempt: its reply, or the failure. `sent` says whether the reader holds text that became void. */
async function* tryOnce(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  sent: { any: boolean },
): AsyncGenerator<ModelEvent, ModelReply | ModelError> {
  if (sent.any) {
    sent.any = false
    yield { type: 'retrying' }
  }
  const { trace, ...plain } = request
  const attempt = trace?.attempt(model, plain)
  const replying = model.reply(attempt?.traceparent === undefined ? plain : { ...plain, traceparent: attempt.traceparent }, signal)
  let outcome: Parameters<ModelAttempt['end']>[0] = {}
  try {
    for (;;) {
      const next = await replying.next()
      if (next.done) {
        outcome = { reply: next.value }
        return next.value
      }
      sent.any = true
      yield next.value
    }
  } catch (error) {
    if (signal.aborted || !(error instanceof ModelError)) throw error
    outcome = { error }
    return error
  } finally {
    attempt?.end(outcome)
    // Closes the connection where the reader leaves; behind an end it does nothing.
    await replying.return(undefined as never)
  }
}

/** Milliseconds until the next try; undefined where another one can't help or would come too late. */
function delayMs(error: ModelError, attempt: number, random: () => number): number | undefined {
  if (!error.isRetryable) return undefined
  const asked = error.retryAfterMs ?? 0
  if (asked > maxRetryAfterMs) return undefined
  // Half of the delay is random, so that calls which failed together do not come back together.
  const backoff = firstDelayMs * 2 ** (attempt - 1) * (0.5 + random() / 2)
  return Math.max(asked, backoff)
}

function summary(failures: ModelError[]): ModelError {
  const last = failures.at(-1)
  if (!last) throw new Error('withRetry needs at least one model')
  if (failures.length === 1) return last
  const message = failures.map((failure) => failure.message).join('; ')
  return new ModelError(last.code, message, { cause: last, retryAfterMs: last.retryAfterMs })
}
