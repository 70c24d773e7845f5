import type { Embedder } from '../agent/embedder.ts'
import type { CallerMemories } from './memory-cache.ts'
import type { Memory, Vector } from './memory.ts'
import { mix } from '../search/mix.ts'
import { toRecalled, type RecalledMemories } from './render.ts'
import { cosine, toVectors } from './vectors.ts'
import { orAborted } from '../concurrency/or-aborted.ts'

export interface RecallOptions {
  /** Maximum number of memories. */
  limit: number
  embedder: Embedder | undefined
  /** True to leave out memories from tools, which may reveal data that this run must not see. */
  withoutTools?: boolean
  signal: AbortSignal
}

/** Returns the memories to put before a caller's question; undefined for none. Never throws. */
export type Recall = (
  loading: Promise<CallerMemories | undefined>,
  question: string,
  options: RecallOptions,
) => Promise<RecalledMemories | undefined>

interface RecallDependencies {
  now(): number
  onFault(error: unknown): void
}

/** Time limit for the question's vector. */
const embedMs = 1000
const restMs = 30_000
const maxQuestion = 4000

export function createRecall({ now, onFault }: RecallDependencies): Recall {
  /** Epoch milliseconds per embedder until which a failed embedder is not asked. */
  const rests = new Map<string, number>()

  async function recall(
    loading: Promise<CallerMemories | undefined>,
    question: string,
    options: RecallOptions,
  ): Promise<RecalledMemories | undefined> {
    try {
      const callerMemories = await loading
      return callerMemories && toRecalled(choose(callerMemories, question, await vectorOf(callerMemories, question, options), options))
    } catch (error) {
      onFault(error)
      return undefined
    }
  }

  /** The vector matters only when there are more memories than can be shown. */
  async function vectorOf({ memories }: CallerMemories, question: string, { limit, embedder, signal }: RecallOptions) {
    if (!embedder || memories.length <= limit || !memories.some(({ vector }) => vector?.model === embedder.name)) return undefined
    if (now() < (rests.get(embedder.name) ?? 0)) return undefined
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(embedMs)])
      const [vector] = await orAborted(toVectors(embedder, [question.slice(0, maxQuestion).toWellFormed()], limited), limited)
      return vector
    } catch (error) {
      // Search by words still works, and the next chats do not wait.
      if (signal.aborted) return undefined
      rests.set(embedder.name, now() + restMs)
      onFault(new Error(`${embedder.name} gave no vector in time; memories are found by words for a while.`, { cause: error }))
      return undefined
    }
  }

  return recall
}

/** Limit for the characters of all shown memories. */
const maxCharacters = 4000
/** Limit of memories from tools, which must also match the question. */
const maxFromTools = 2
const maxRanked = 50

/**
 * Chooses the memories to show: preferences first, then matches by words and meaning, then the latest statements;
 * memories from tools only when they match.
 */
export function choose(
  callerMemories: CallerMemories,
  question: string,
  vector: Vector | undefined,
  { limit, withoutTools = false }: Pick<RecallOptions, 'limit' | 'withoutTools'>,
): Memory[] {
  const scores = rank(callerMemories, question, vector)
  const scoreOf = (memory: Memory) => scores.get(memory) ?? 0
  const byFit = (a: Memory, b: Memory) => scoreOf(b) - scoreOf(a) || b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1)
  const statements = callerMemories.memories.filter(({ origin }) => origin === 'user').toSorted(byFit)
  const preferences = statements.filter(({ kind }) => kind === 'preference').slice(0, Math.ceil(limit / 2))
  const fitting = statements.filter((memory) => scoreOf(memory) > 0)
  const first = [...new Set([...preferences, ...fitting])].slice(0, limit)
  const tools = callerMemories.memories.filter((memory) => !withoutTools && memory.origin === 'tool' && scoreOf(memory) > 0).toSorted(byFit)
  const fromTools = tools.slice(0, Math.min(maxFromTools, limit - first.length))
  const rest = statements.filter((memory) => !first.includes(memory)).slice(0, limit - first.length - fromTools.length)
  return toSize([...first, ...rest, ...fromTools])
}

function toSize(memories: readonly Memory[]): Memory[] {
  let available = maxCharacters
  return memories.filter(({ content }) => (available -= content.length) >= 0)
}

/** Scores by words and meaning; memories that fit neither get no score. */
function rank({ memories, index }: CallerMemories, question: string, vector: Vector | undefined): Map<Memory, number> {
  const words = index.scores(question.slice(0, maxQuestion), memories.keys())
  const cosineOf = (id: number) => {
    const own = memories[id]!.vector
    return vector && own && own.model === vector.model && own.values.length > 0 ? cosine(own, vector) : undefined
  }
  const best = mix(memories.keys(), { words, cosineOf: vector && vector.values.length > 0 ? cosineOf : undefined }, maxRanked)
  return new Map(best.map(({ id, score }) => [memories[id]!, score]))
}
