import type { Owner } from '../access/owner.ts'
import type { Embedder } from '../agent/embedder.ts'
import type { MemoryCache, CallerMemories } from './memory-cache.ts'
import type { Memory, Vector } from './memory.ts'
import { render } from './render.ts'
import { cosine, toVectors } from './vectors.ts'
import { orAborted } from '../concurrency/or-aborted.ts'

export interface RecallOptions {
  /** How many at most. */
  limit: number
  embedder: Embedder | undefined
  /** Whether what tools said is left out: it may tell of data that this question's run may not see. */
  withoutTools?: boolean
  signal: AbortSignal
}

/** What stands in front of a caller's question; undefined where nothing is known. It never throws. */
export type Recall = (caller: Owner, question: string, options: RecallOptions) => Promise<string | undefined> | undefined

interface RecallDependencies {
  cache: MemoryCache
  now(): number
  onFault(error: unknown): void
}

/** A chat waits no longer for its memories to be compared by meaning. */
const embedMs = 2000
const restMs = 30_000
const maxQuestion = 4000

export function createRecall({ cache, now, onFault }: RecallDependencies): Recall {
  /** Until when an embedder that failed is not asked. */
  const rests = new Map<string, number>()

  async function recall(asked: Promise<CallerMemories | undefined>, question: string, options: RecallOptions): Promise<string | undefined> {
    try {
      const own = await asked
      return own && render(choose(own, question, await vectorOf(own, question, options), options))
    } catch (error) {
      onFault(error)
      return undefined
    }
  }

  /** Only where there are more memories than are shown does it matter which. */
  async function vectorOf({ memories }: CallerMemories, question: string, { limit, embedder, signal }: RecallOptions) {
    if (!embedder || memories.length <= limit || !memories.some(({ vector }) => vector?.model === embedder.name)) return undefined
    if (now() < (rests.get(embedder.name) ?? 0)) return undefined
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(embedMs)])
      const [vector] = await orAborted(toVectors(embedder, [question.slice(0, maxQuestion).toWellFormed()], limited), limited)
      return vector
    } catch (error) {
      // Words find them too, and the next chats do not wait.
      if (signal.aborted) return undefined
      rests.set(embedder.name, now() + restMs)
      onFault(new Error(`${embedder.name} gave no vector in time; memories are found by words for a while.`, { cause: error }))
      return undefined
    }
  }

  return (caller, question, options) => {
    if (options.limit === 0) return undefined
    const asked = cache.get(caller)
    return asked && recall(asked, question, options)
  }
}

/** Characters of all memories that are shown. */
const maxCharacters = 4000
/** What tools said must fit the question, and is little. */
const maxFromTools = 2
/** Cormack, Clarke and Büttcher 2009: how much the first places of a list weigh. */
const rankConstant = 60
const maxRanked = 50

/**
 * The memories that are shown with a question: how the caller wants things first, then what fits the question by its words and by its
 * meaning, then what was said last; what tools said only where it fits.
 */
export function choose(
  own: CallerMemories,
  question: string,
  vector: Vector | undefined,
  { limit, withoutTools = false }: Pick<RecallOptions, 'limit' | 'withoutTools'>,
): Memory[] {
  const scores = rank(own, question, vector)
  const scoreOf = (memory: Memory) => scores.get(memory) ?? 0
  const byFit = (a: Memory, b: Memory) => scoreOf(b) - scoreOf(a) || b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1)
  const said = own.memories.filter(({ origin }) => origin === 'user').toSorted(byFit)
  const preferences = said.filter(({ kind }) => kind === 'preference').slice(0, Math.ceil(limit / 2))
  const fitting = said.filter((memory) => scoreOf(memory) > 0)
  const first = [...new Set([...preferences, ...fitting])].slice(0, limit)
  const tools = own.memories.filter((memory) => !withoutTools && memory.origin === 'tool' && scoreOf(memory) > 0).toSorted(byFit)
  const fromTools = tools.slice(0, Math.min(maxFromTools, limit - first.length))
  const rest = said.filter((memory) => !first.includes(memory)).slice(0, limit - first.length - fromTools.length)
  return toSize([...first, ...rest, ...fromTools])
}

function toSize(memories: readonly Memory[]): Memory[] {
  let left = maxCharacters
  return memories.filter(({ content }) => (left -= content.length) >= 0)
}

/** Reciprocal rank fusion of both orders; what neither finds is not in it. */
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
