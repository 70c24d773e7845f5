import type { Embedder } from '../agent/embedder.ts'
import type { CallerMemories } from './memory-cache.ts'
import type { Memory, Vector } from './memory.ts'
import { render } from './render.ts'
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
export type Recall = (loading: Promise<CallerMemories | undefined>, question: string, options: RecallOptions) => Promise<string | undefined>

interface RecallDependencies {
  now(): number
  onFault(error: unknown): void
}

/** Time limit for the question's vector. */
const embedMs = 2000
const restMs = 30_000
const maxQuestion = 4000

export function createRecall({ now, onFault }: RecallDependencies): Recall {
  /** Epoch milliseconds per embedder until which a failed embedder is not asked. */
  const rests = new Map<string, number>()

  async function recall(
    loading: Promise<CallerMemories | undefined>,
    question: string,
    options: RecallOptions,
  ): Promise<string | undefined> {
    try {
      const callerMemories = await loading
      return callerMemories && render(choose(callerMemories, question, await vectorOf(callerMemories, question, options), options))
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
/** Cormack, Clarke and Büttcher 2009: the weight of the first ranks of a list. */
const rankConstant = 60
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

/** Reciprocal rank fusion of both orders; memories in neither order get no score. */
function rank({ memories, index }: CallerMemories, question: string, vector: Vector | undefined): Map<Memory, number> {
  const byWords = index.search(question.slice(0, maxQuestion), memories.keys(), maxRanked).map(({ id }) => memories[id]!)
  const byMeaning = vector ? nearest(memories, vector) : []
  const scores = new Map<Memory, number>()
  for (const list of [byWords, byMeaning]) {
    for (const [at, memory] of list.entries()) scores.set(memory, (scores.get(memory) ?? 0) + 1 / (rankConstant + at + 1))
  }
  return scores
}

function nearest(memories: readonly Memory[], vector: Vector): Memory[] {
  const rated = memories.flatMap((memory) =>
    memory.vector?.model === vector.model ? [{ memory, near: cosine(memory.vector, vector) }] : [],
  )
  return rated
    .filter(({ near }) => near > 0)
    .toSorted((a, b) => b.near - a.near)
    .slice(0, maxRanked)
    .map(({ memory }) => memory)
}
