import { setTimeout as sleep } from 'node:timers/promises'
import type { Embedder, ModelMeter } from '../agent/model.ts'
import { orAborted } from '../concurrency/or-aborted.ts'
import { settlesWithin } from '../concurrency/settles-within.ts'
import { messageOf } from '../errors.ts'
import type { Tier, UnembeddedText } from './retriever.ts'
import { toByteVector, type VectorStore } from './vectors.ts'

interface IndexerOptions {
  encoder(): Embedder | undefined
  /** Pays for the vectors of a tenant's documents, or of the service's own. */
  meterOf(tenant: string | undefined): ModelMeter | undefined
  store: VectorStore
  onFault(error: unknown): void
  /** Milliseconds before the next look at vectors that another process makes. */
  pollMs?: number
}

/** Texts whose vectors are looked up at once. */
const lookupSize = 256
/** Texts that are encoded between two writes to the store. */
const roundSize = 32
/** Limits of a call of the encoder, unless it states its own. */
const maxTexts = 64
const defaultCharacters = 60_000
const callMs = 60_000
/** Longer than a round takes. */
const leaseMs = 180_000
/** A part of the time of a call, left to other work. */
const pauseFactor = 0.1
const maxDelayMs = 600_000
const closeMs = 1000

type Outcome = 'done' | 'more' | 'elsewhere'

interface Task {
  tier: Tier
  /** Who pays; undefined: the service. */
  tenant: string | undefined
  /** Resolves when stored vectors have been loaded, whatever other tiers are being indexed. */
  loaded: Promise<void>
  failures: number
  fault?: string | undefined
  /** Epoch of `performance.now()` before which the tier is left alone. */
  notBefore: number
}

/** Gives the passages of tiers their vectors, in the background. */
export class Indexer {
  private readonly options: IndexerOptions
  private readonly tasks = new Map<Tier, Task>()
  private readonly closing = new AbortController()
  /**
   * Aborted by a tier that comes while the remaining tiers wait: the failure of a tier, such as a used-up budget, holds up no other
   * tier.
   */
  private wake = new AbortController()
  private running: Promise<void> | undefined
  private isSwept = false

  constructor(options: IndexerOptions) {
    this.options = options
  }

  /** Starts, or goes on after passages were added. Resolves when vectors that are already stored have been loaded; never rejects. */
  index(tier: Tier, tenant?: string): Promise<void> {
    const task = this.tasks.get(tier) ?? { tier, tenant, loaded: this.loadFirst(tier), failures: 0, notBefore: 0 }
    if (!this.tasks.has(tier)) this.wake.abort()
    this.tasks.set(tier, task)
    this.running ??= this.run()
      .catch(() => undefined)
      .finally(() => (this.running = undefined))
    return task.loaded
  }

  /** Forgets a tier that is being closed. */
  forget(tier: Tier): void {
    this.tasks.delete(tier)
  }

  /** True while vectors of the tier are missing and are being made. */
  isIndexing(tier: Tier): boolean {
    return this.tasks.has(tier)
  }

  /** Why the last attempt failed; the next attempt follows by itself. */
  faultOf(tier: Tier): string | undefined {
    return this.tasks.get(tier)?.fault
  }

  async close(): Promise<void> {
    this.closing.abort()
    // A database that does not answer must not hold up a stop.
    if (this.running) await settlesWithin(this.running, closeMs)
  }

  private async run(): Promise<void> {
    const { tasks, closing } = this
    while (!closing.signal.aborted && tasks.size > 0) {
      const due = [...tasks.values()].filter(({ notBefore }) => notBefore <= performance.now())
      for (const task of due) await this.attempt(task)
      const next = Math.min(...[...tasks.values()].map(({ notBefore }) => notBefore))
      if (Number.isFinite(next)) await this.rest(Math.max(1, next - performance.now()))
    }
  }

  private async rest(ms: number): Promise<void> {
    const signal = AbortSignal.any([this.closing.signal, this.wake.signal])
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
    this.wake = new AbortController()
  }

  private async sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.closing.signal, ref: false })
  }

  private async attempt(task: Task): Promise<void> {
    const { onFault, pollMs = 3000 } = this.options
    const encoder = this.options.encoder()
    try {
      const outcome = encoder ? await this.round(task, encoder) : 'done'
      task.failures = 0
      task.fault = undefined
      if (outcome === 'done') this.tasks.delete(task.tier)
      else task.notBefore = performance.now() + (outcome === 'elsewhere' ? pollMs : 0)
    } catch (error) {
      if (this.closing.signal.aborted || !this.tasks.has(task.tier)) return
      task.fault = messageOf(error)
      task.notBefore = performance.now() + Math.min(maxDelayMs, 15_000 * 2 ** ++task.failures)
      onFault(error)
    }
  }

  private async round(task: Task, encoder: Embedder): Promise<Outcome> {
    const { store, meterOf } = this.options
    await task.loaded
    const rest = await this.load(task.tier, encoder)
    if (rest.length === 0) {
      await store.release(encoder.name)
      return 'done'
    }
    if (!(await store.claim(encoder.name, leaseMs))) return 'elsewhere'
    const vectors = new Map<string, Int8Array>()
    for (const batch of toBatches(rest.slice(0, roundSize), encoder.batchCharacters ?? defaultCharacters)) {
      const startedAt = performance.now()
      const signal = AbortSignal.any([this.closing.signal, AbortSignal.timeout(callMs)])
      const texts = batch.map(({ text }) => text.toWellFormed())
      const lists = await orAborted(encoder.embed(texts, signal, { meter: meterOf(task.tenant) }), signal)
      for (const [index, { hash }] of batch.entries()) vectors.set(hash, toByteVector(lists[index] ?? []).values)
      await this.sleep((performance.now() - startedAt) * pauseFactor)
    }
    await store.add(encoder.name, vectors)
    await task.tier.setVectors(encoder.name, vectors)
    return 'more'
  }

  /** Loads stored vectors until some are missing, and returns the texts of these; empty if none is missing. */
  private async load(tier: Tier, encoder: Embedder): Promise<UnembeddedText[]> {
    const { store } = this.options
    if (!this.isSwept) await store.removeUnused()
    this.isSwept = true
    for (;;) {
      const missing = await tier.missing(encoder.name, lookupSize)
      if (missing.length === 0 || this.closing.signal.aborted) return []
      const hashes = missing.map(({ hash }) => hash)
      const stored = await store.find(encoder.name, hashes)
      const rest = missing.filter(({ hash }) => !stored.has(hash))
      const unknown = rest.filter(({ text }) => encoder.knows?.(text) === false)
      const vectors = new Map<string, Int8Array | null>([...stored, ...unknown.map(({ hash }) => [hash, null] as const)])
      await tier.setVectors(encoder.name, vectors)
      if (rest.length > unknown.length) return rest.filter((text) => !unknown.includes(text))
    }
  }

  /** A failure is met again, and reported, by the first round. */
  private async loadFirst(tier: Tier): Promise<void> {
    const encoder = this.options.encoder()
    if (encoder) await this.load(tier, encoder).catch(() => undefined)
  }
}

/** Batches of texts that a call of the encoder takes. */
function toBatches(texts: readonly UnembeddedText[], maxCharacters: number): UnembeddedText[][] {
  const batches: UnembeddedText[][] = []
  let characters = Number.POSITIVE_INFINITY
  for (const text of texts) {
    const latest = batches.at(-1)
    if (!latest || latest.length === maxTexts || characters + text.text.length > maxCharacters) {
      batches.push([text])
      characters = 0
    } else latest.push(text)
    characters += text.text.length
  }
  return batches
}
