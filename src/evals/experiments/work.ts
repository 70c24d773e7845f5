import { ownIssuer, type Permission, type Principal } from '../../access/permissions.ts'
import type { Identity } from '../../access/identity.ts'
import { messageOf } from '../../errors.ts'
import type { Job, JobOutcome } from '../../runs/jobs.ts'
import type { DatasetStore } from '../dataset-store.ts'
import type { Experiment, ExperimentStore, ResultKey } from '../experiment-store.ts'
import { endExperiment } from './end.ts'
import { readExamples } from './examples.ts'
import { measure, type Item, type MeasureOptions, type OpenVariant } from './measure.ts'
import { openVariants, toMeasureOptions, type VariantDependencies } from './open-variants.ts'
import { Overloaded, type ReplayPace } from './pace.ts'
import { changesConfiguration } from './variants.ts'

export interface WorkDependencies extends VariantDependencies {
  store: Pick<ExperimentStore, 'find' | 'start' | 'leave' | 'addResult' | 'done' | 'end' | 'configurations'>
  datasets: Pick<DatasetStore, 'examples' | 'media'>
  /** The caller behind a stored identity, with the permissions of now; undefined where the key or the issuer is no longer accepted. */
  principalNow(identity: Identity): Promise<Principal | undefined>
  pace: ReplayPace
  /** Number of replays of one experiment at once. */
  concurrency(): number
  now(): number
}

/** Milliseconds between two looks at the experiment, which another process may have cancelled, and at the rights of its owner. */
const watchEveryMs = 1000
/** Milliseconds until a process looks again after an overload. */
const afterOverloadMs = 5000

/** Processes in a row that are lost without a new result: a replay that ends its process must not end one process after another. */
const maxLosses = 3
const processesLost = `${maxLosses} processes in a row were lost during the experiment, without a new result.`

/**
 * Does the jobs of experiments. A result that is stored is never made again: after the death of a process, another process goes on with
 * the rest.
 */
export function createExperimentWork(deps: WorkDependencies) {
  return async ({ tenant, data }: Job<'experiment'>, signal: AbortSignal): Promise<JobOutcome> => {
    const experiment = await deps.store.find(tenant, data.id)
    const losses = experiment && (await deps.store.start(tenant, data.id, deps.now()))
    if (losses === undefined) return { kind: 'done' }
    return new ExperimentWork(experiment!, deps, signal).run(losses)
  }
}

/** Why the work on an experiment stops before its end. */
class Stop extends Error {
  /** `ended`: somebody else has ended the experiment. `refused`: its owner may not go on; the message says why. */
  readonly kind: 'ended' | 'refused'

  constructor(kind: Stop['kind'], message = '') {
    super(message)
    this.kind = kind
  }
}

class ExperimentWork {
  private readonly experiment: Experiment
  private readonly deps: WorkDependencies
  private readonly stopping = new AbortController()
  /** Aborted when the process ends, and when the experiment is to stop. */
  private readonly signal: AbortSignal

  constructor(experiment: Experiment, deps: WorkDependencies, signal: AbortSignal) {
    this.experiment = experiment
    this.deps = deps
    this.signal = AbortSignal.any([signal, this.stopping.signal])
  }

  async run(losses: number): Promise<JobOutcome> {
    const { deps } = this
    const refusal = losses >= maxLosses ? processesLost : await this.refusal()
    if (refusal !== undefined) return this.end('failed', refusal)
    const opened = await openVariants(this.experiment, deps).catch((error: unknown) => messageOf(error))
    if (typeof opened === 'string') return this.end('failed', opened)
    const watching = setInterval(() => void this.watch(), watchEveryMs)
    try {
      await this.replayAll(opened.variants)
      return await this.end('completed')
    } catch (error) {
      if (!(error instanceof Stop)) await this.leave()
      if (error instanceof Overloaded) return { kind: 'again', at: deps.now() + afterOverloadMs }
      if (!(error instanceof Stop)) throw error
      return error.kind === 'ended' ? { kind: 'done' } : await this.end('failed', error.message)
    } finally {
      clearInterval(watching)
      await opened.close().catch((error: unknown) => deps.replays.onFault(error))
    }
  }

  /** Another process goes on. */
  private async leave(): Promise<void> {
    const { tenant, id } = this.experiment
    await this.deps.store.leave(tenant, id).catch((error: unknown) => this.deps.replays.onFault(error))
  }

  private async end(status: 'completed' | 'failed', error?: string): Promise<JobOutcome> {
    await endExperiment(this.experiment, { status, ...(error !== undefined && { error }) }, this.deps)
    return { kind: 'done' }
  }

  /** Why the owner may not go on, as a sentence; undefined where the owner may. */
  private async refusal(): Promise<string | undefined> {
    const { spec } = this.experiment
    const { principalNow, now } = this.deps
    const { issuer, expiresAt } = spec.identity
    const principal = issuer === ownIssuer && expiresAt <= now() ? undefined : await principalNow(spec.identity)
    if (!principal) return "The key of the experiment's owner is no longer accepted."
    const needed: Permission[] = spec.variants.some(changesConfiguration) ? ['evals.write', 'config.write'] : ['evals.write']
    const missing = needed.find((permission) => !principal.permissions.has(permission))
    return missing && `The owner of the experiment no longer has the permission ${missing}.`
  }

  private async watch(): Promise<void> {
    const { tenant, id } = this.experiment
    try {
      const now = await this.deps.store.find(tenant, id)
      if (now?.status !== 'running') return this.stopping.abort(new Stop('ended'))
      const refusal = await this.refusal()
      if (refusal !== undefined) this.stopping.abort(new Stop('refused', refusal))
    } catch (error) {
      this.deps.replays.onFault(error)
    }
  }

  /** Replays what has no result, `concurrency` examples at once. The first failure of the service ends all. */
  private async replayAll(variants: readonly OpenVariant[]): Promise<void> {
    const items = this.items(variants.length)
    const options = toMeasureOptions(this.experiment, variants, this.deps, this.signal)
    const work = async (): Promise<void> => {
      for await (const item of items) await this.replayOne(item, options)
    }
    const lanes = Array.from({ length: this.deps.concurrency() }, () =>
      work().catch((error: unknown) => {
        this.stopping.abort(error)
        throw error
      }),
    )
    await Promise.allSettled(lanes)
    this.signal.throwIfAborted()
  }

  private async replayOne(item: Item, options: MeasureOptions): Promise<void> {
    const { deps, signal } = this
    const { tenant, id } = this.experiment
    signal.throwIfAborted()
    const result = await deps.pace.run(() => measure(item, options), signal)
    // A replay that was cut off says nothing about the variant.
    signal.throwIfAborted()
    if (!(await deps.store.addResult(tenant, id, result))) throw new Stop('ended')
  }

  /** The replays without a result: both variants of an example one after the other. */
  private async *items(variants: number): AsyncGenerator<Item> {
    const { tenant, id, spec } = this.experiment
    const done = new Set((await this.deps.store.done(tenant, id)).map(keyOf))
    for await (const example of readExamples(this.deps.datasets, tenant, spec.datasets)) {
      for (let repetition = 1; repetition <= spec.repetitions; repetition++) {
        for (let variant = 0; variant < variants; variant++) {
          if (!done.has(keyOf({ variant, example: example.example.id, repetition }))) yield { example, variant, repetition }
        }
      }
    }
  }
}

function keyOf({ variant, example, repetition }: ResultKey): string {
  return `${example} ${repetition} ${variant}`
}
