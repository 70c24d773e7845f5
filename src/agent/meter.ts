import { ServiceError } from '../errors.ts'
import type { PendingCall } from './approval.ts'
import type { Embedder, Model, ModelMeter } from './model.ts'

/** A budget cannot pay for a model call. */
export class BudgetSpent extends ServiceError {
  readonly budget: string
  /** `stop`: the run ends with what it has. `pause`: it waits until the limit is raised. */
  readonly onExceeded: 'stop' | 'pause'
  /** What the call would have needed at least. */
  readonly needed: Record<string, number>
  /** Epoch milliseconds; undefined where the budget does not become whole again. */
  readonly resetsAt: number | undefined

  constructor(
    message: string,
    refusal: Pick<BudgetSpent, 'budget' | 'onExceeded' | 'needed' | 'resetsAt' | 'details'>,
    retryAfter?: number,
  ) {
    super('budget_exceeded', message, { details: refusal.details, ...(retryAfter !== undefined && { retryAfter }) })
    this.name = 'BudgetSpent'
    this.budget = refusal.budget
    this.onExceeded = refusal.onExceeded
    this.needed = refusal.needed
    this.resetsAt = refusal.resetsAt
  }
}

/** The wait of a paused run for a higher limit. */
export function toBudgetCall({ budget, needed, details }: BudgetSpent, callId: string): PendingCall {
  const { resets_at: at } = details
  const resets = typeof at === 'string' ? { resets_at: at } : undefined
  return { callId, tool: budget, input: { budget, needed: { ...needed }, ...resets }, by: 'budget' }
}

/** The refusal of a budget whose limit a person has not raised. */
export function toRefusal({ tool: budget, input }: PendingCall): BudgetSpent {
  const { needed, resets_at: resets } = input
  const at = typeof resets === 'string' ? { resets_at: resets } : undefined
  const message = `Budget ${budget} is used up, and a person has refused to raise its limit.`
  const resetsAt = at && Date.parse(at.resets_at)
  return new BudgetSpent(message, {
    budget,
    onExceeded: 'stop',
    needed: needed as Record<string, number>,
    resetsAt,
    details: { budget, ...at },
  })
}

/** A model whose calls a meter pays for. */
export function metered(model: Model, meter: ModelMeter): Model {
  return { ...model, reply: (request, sink, signal) => model.reply({ ...request, meter }, sink, signal) }
}

/** An embedder whose calls a meter pays for. */
export function meteredEmbedder(embedder: Embedder, meter: ModelMeter): Embedder {
  return { ...embedder, embed: (texts, signal, options) => embedder.embed(texts, signal, { ...options, meter }) }
}
