import type { Logger } from 'pino'
import { BudgetSpent } from '../agent/meter.ts'
import type { Embedder } from '../agent/model.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { createMemoryCache, createRecallForRun } from '../memory/memory-cache.ts'
import { Learning } from '../memory/learn.ts'
import { createMemories, type Memories } from '../memory/memories.ts'
import { createRecall } from '../memory/recall.ts'
import type { RunPorts } from '../runs/execution/ports.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Database } from '../store/database.ts'
import { createFeedbackStore } from '../store/memory/feedback.ts'
import { createMemoryStore } from '../store/memory/memories.ts'

interface MemoryOptions {
  agent: CurrentAgent
  budgets: Budgets
  /** The encoder of search by meaning. */
  encoder(): Embedder | undefined
  jobs: Jobs
  now(): number
  newId(): string
  log: Logger
}

interface OpenMemory extends Pick<RunPorts, 'recall'> {
  memories: Memories
}

/** Concurrent memory jobs: slow work in the background. */
const learners = 4

/** A limit may be raised before its window ends. */
const laterMs = 3_600_000

/** Wires memory: learning after runs, recall before runs. */
export function openMemory(database: Database, { agent, budgets, encoder, jobs, now, newId, log }: MemoryOptions): OpenMemory {
  const store = createMemoryStore(database)
  const feedback = createFeedbackStore(database)
  const cache = createMemoryCache(store, { now })
  const onFault = (err: unknown) => log.warn({ err }, 'memory')
  const learning = new Learning({ store, feedback, cache, now, newId, onFault })
  for (const kind of ['retain', 'feedback'] as const) {
    const learn = kind === 'retain' ? 'learnFromRun' : 'learnFromFeedback'
    jobs.handle(kind, learners, async ({ tenant, data }, signal) => {
      const { owner, requestId } = data
      const payer = { tenant, owner, operation: kind, ...('session' in data && { session: data.session }) }
      const { config } = agent()
      const { small, embedder } = budgets.modelsFor(payer, agent())
      // Fewer memories are all shown, so that the embedded encoder need not start.
      const vectors = embedder ? { embedder } : { embedder: encoder(), vectorsAbove: config.memory.recall }
      try {
        await learning[learn]({ tenant, owner }, requestId, { small, ...vectors }, signal)
        return { kind: 'done' }
      } catch (error) {
        // A window ends; where none does, the work is dropped after a day of attempts, as with a failed model.
        if (!(error instanceof BudgetSpent) || error.resetsAt === undefined) throw error
        log.warn({ tenant, kind, reason: error.message }, 'No budget pays for what is to be learned; it is learned later')
        return { kind: 'again', at: Math.min(error.resetsAt, now() + laterMs) }
      }
    })
  }
  return {
    memories: createMemories({ store, feedback, cache, now, newId, wake: () => jobs.wake('feedback') }),
    recall: createRecallForRun(cache, createRecall({ now, onFault }), encoder),
  }
}
