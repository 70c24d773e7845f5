import { charactersPerToken } from '../../agent/history.ts'
import { ModelError } from '../../agent/model.ts'
import type { Agent, CurrentAgent } from '../../configuration/agent.ts'
import { digest, summaryTokens } from './digest.ts'
import type { Job, JobOutcome } from '../jobs.ts'
import type { RunningSummary } from '../run-store.ts'
import { summariseWith } from './summary-prompt.ts'
import { commonHints } from './restriction.ts'
import type { SummaryStore } from './summary-store.ts'
import { systemOf } from './transcript.ts'

export interface SummaryDependencies {
  store: SummaryStore
  agent: CurrentAgent
  now(): number
  /** The small model failed; its message holds no secret. */
  onFailure(job: Job<'summary'>, error: ModelError): void
}

/** Messages that are read from the store at once. */
const page = 40
/** Times that the small model is asked before a summary without a model takes its place. */
const maxAttempts = 3
const retryMs = 20_000

/**
 * Does jobs of the kind `summary`: brings the turns that leave a session's window into its summary and moves the window, in one update.
 * Until then the window stays, so that no turn is in neither; a model that fails does not hold it for ever.
 */
export function createSummaries({ store, agent, now, onFailure }: SummaryDependencies) {
  return async (job: Job<'summary'>, signal: AbortSignal): Promise<JobOutcome> => {
    const { session, upTo } = job.data
    const window = await store.window(job.tenant, session)
    if (!window || window.start >= upTo) return { kind: 'done' }
    const current = agent()
    const release = current.hold()
    try {
      const summary = await bringIn(job, window, toExtend(current, job, onFailure), signal)
      await store.moveWindow(job.tenant, session, { from: window.start, to: upTo, summary })
      return { kind: 'done' }
    } catch (error) {
      if (signal.aborted || !(error instanceof ModelError)) throw error
      onFailure(job, error)
      return { kind: 'again', at: now() + retryMs * job.attempt }
    } finally {
      release()
    }
  }

  async function bringIn(
    { tenant, data: { session, upTo } }: Job<'summary'>,
    window: { start: number; summary: RunningSummary | undefined },
    extend: Extend,
    signal: AbortSignal,
  ): Promise<RunningSummary> {
    let summary: RunningSummary = window.summary ?? { text: '' }
    // What was summarised before hints were kept with it may tell of everything.
    let hints = window.summary && (window.summary.hints ?? [])
    // What left the window before there were summaries comes into the first one.
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

/** With the small model where there is one and it does not fail too often. */
function toExtend({ config, small }: Agent, job: Job<'summary'>, onFailure: SummaryDependencies['onFailure']): Extend {
  const maxCharacters = summaryTokens(config.memory.history_tokens) * charactersPerToken
  let model = job.attempt > maxAttempts ? undefined : small
  return async (earlier, messages, signal) => {
    if (!model) return digest(earlier, messages, maxCharacters)
    try {
      return await summariseWith(model, { earlier, messages, maxCharacters }, signal)
    } catch (error) {
      // What was refused will be refused again.
      if (!(error instanceof ModelError && error.code === 'refused') || signal.aborted) throw error
      onFailure(job, error)
      model = undefined
      return digest(earlier, messages, maxCharacters)
    }
  }
}
