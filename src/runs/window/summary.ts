import { charactersPerToken } from '../../agent/history.ts'
import { ModelError } from '../../agent/model.ts'
import type { Agent, CurrentAgent } from '../../configuration/agent.ts'
import { digest } from './digest.ts'
import type { Job, JobOutcome } from '../jobs.ts'
import type { RunningSummary } from '../run-store.ts'
import { summariseWith } from './summary-prompt.ts'
import { commonHints } from './restriction.ts'
import type { SummaryStore } from './summary-store.ts'
import { summaryTokens, systemOf } from './transcript.ts'

export interface SummaryDependencies {
  store: SummaryStore
  agent: CurrentAgent
  now(): number
  /** Called when the small model has failed. The error's message contains no secret. */
  onFailure(job: Job<'summary'>, error: ModelError): void
}

/** Messages read from the store at a time. */
const page = 40
/** Attempts with the small model before `digest` writes the summary instead. */
const maxAttempts = 3
const retryMs = 20_000

/**
 * Handles `summary` jobs: adds the turns that leave a session's window to the summary and moves the window, in one update. The window moves
 * only with the summary, so that every turn is in one of both. A failing model delays the window, but does not block the window for ever.
 */
export function createSummaries({ store, agent, now, onFailure }: SummaryDependencies) {
  return async (job: Job<'summary'>, signal: AbortSignal): Promise<JobOutcome> => {
    const { session, upTo } = job.data
    const window = await store.window(job.tenant, session)
    if (!window || window.start >= upTo) return { kind: 'done' }
    const current = agent()
    const release = current.hold()
    try {
      const summary = await extendSummary(job, window, createExtend(current, job, onFailure), signal)
      await store.moveWindow(job.tenant, session, { start: window.start, end: upTo, summary })
      return { kind: 'done' }
    } catch (error) {
      if (signal.aborted || !(error instanceof ModelError)) throw error
      onFailure(job, error)
      return { kind: 'again', at: now() + retryMs * job.attempt }
    } finally {
      release()
    }
  }

  async function extendSummary(
    { tenant, data: { session, upTo } }: Job<'summary'>,
    window: { start: number; summary: RunningSummary | undefined },
    extend: Extend,
    signal: AbortSignal,
  ): Promise<RunningSummary> {
    let summary: RunningSummary = window.summary ?? { text: '' }
    // A stored summary without hints may contain data of any filter, so count the summary as an answer without hints.
    let hints = window.summary && (window.summary.hints ?? [])
    // The first summary also covers messages that left the window before summaries existed.
    let at = window.summary ? window.start : 0
    while (at < upTo) {
      const messages = await store.history(tenant, session, at, Math.min(page, upTo - at))
      if (messages.length === 0) break
      const [system] = systemOf(messages)
      summary = { ...summary, ...(system === undefined ? {} : { system }), text: await extend(summary.text, messages, signal) }
      hints = commonHints(hints, messages)
      at = messages.at(-1)!.idx + 1
    }
    return hints && hints.length > 0 ? { ...summary, hints } : withoutHints(summary)
  }
}

function withoutHints({ text, system }: RunningSummary): RunningSummary {
  return system === undefined ? { text } : { text, system }
}

type Extend = (earlier: string, messages: Awaited<ReturnType<SummaryStore['history']>>, signal: AbortSignal) => Promise<string>

/** Returns the function that extends a summary: with the small model if configured and not out of attempts, otherwise with `digest`. */
function createExtend({ config, small }: Agent, job: Job<'summary'>, onFailure: SummaryDependencies['onFailure']): Extend {
  const maxCharacters = summaryTokens(config.memory.history_tokens) * charactersPerToken
  let model = job.attempt > maxAttempts ? undefined : small
  return async (earlier, messages, signal) => {
    if (!model) return digest(earlier, messages, maxCharacters)
    try {
      return await summariseWith(model, { earlier, messages, maxCharacters }, signal)
    } catch (error) {
      // A refused request would be refused again: do not retry.
      if (!(error instanceof ModelError && error.code === 'refused') || signal.aborted) throw error
      onFailure(job, error)
      model = undefined
      return digest(earlier, messages, maxCharacters)
    }
  }
}
