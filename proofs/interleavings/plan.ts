import fc from 'fast-check'

/** What a client or a fault does. `process` is the place of a process, `run` the number of an earlier chat, counted modulo the chats so far. */
export type Step =
  | { kind: 'chat'; process: number; session: number; question: Question; way: 'waits' | 'async' | 'detached' }
  | { kind: 'repeat' | 'cancel' | 'follow'; process: number; run: number }
  | { kind: 'decide'; process: number; run: number; decision: 'approve' | 'reject' }
  | { kind: 'message'; process: number; run: number; mode: 'steer' | 'follow_up' }
  | { kind: 'leave'; run: number }
  /** Replaces the limit of the caller in this hour; undefined: clears what has replaced the limit. */
  | { kind: 'override'; process: number; nanoUsd: number | undefined }
  | { kind: 'kill'; process: number; during: 'anything' | 'tool' }
  | { kind: 'stop' | 'stall'; process: number }
  | { kind: 'deafen'; process: number; messages: number }
  | { kind: 'fail'; process: number; after: number; isStored: boolean }

/** `plain`: answered at once. `write`: calls a tool that changes something. `approve`: the same tool, after an approval. */
export type Question = 'plain' | 'write' | 'approve'

/**
 * One schedule: the steps, in the order of begin, and the index of the waiting task that is executed next, modulo the number of waiting
 * tasks.
 */
export interface Plan {
  steps: Step[]
  /** After the last pick the tasks are executed in the order of their arrival. */
  picks: number[]
  /** The calls of the model, by their number in the schedule, that break off. Default: none. */
  broken?: readonly number[]
  /** What a caller may spend in an hour, and a run in tokens; undefined for no limits. */
  budget?: SimulatedBudget | undefined
}

export interface SimulatedBudget {
  nanoUsd: number
  tokens: number
  /** Nano USD of a token of output. */
  price: number
  /** Tokens of output that are held for a call. */
  reserved: number
  /** How much of it an answer uses. */
  share: number
  /** What happens to a run for which a budget cannot pay. Default: `stop`. */
  onExceeded?: Record<'hour' | 'run', 'stop' | 'pause'>
  /** How much an approval of a run that waits for a budget raises the limit, in nano USD or tokens. Default: not at all. */
  raise?: number
}

/** Number of places of processes. A process that was killed or stopped is replaced in its place. */
export const places = 2

const process = fc.nat(places - 1)
const run = fc.nat(7)
const chat = fc.record({
  kind: fc.constant('chat' as const),
  process,
  session: fc.constantFrom(0, 0, 0, 1),
  question: fc.constantFrom<Question[]>('plain', 'write', 'approve'),
  way: fc.constantFrom<('waits' | 'async' | 'detached')[]>('waits', 'async', 'detached'),
})

const nanoUsd = fc.integer({ min: 0, max: 6000 })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: chat },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat' as const), process, run }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), process, run }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('follow' as const), process, run }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('decide' as const),
      process,
      run,
      decision: fc.constantFrom<('approve' | 'reject')[]>('approve', 'reject'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('message' as const),
      process,
      run,
      mode: fc.constantFrom<('steer' | 'follow_up')[]>('steer', 'follow_up'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), run }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('override' as const), process, nanoUsd: fc.option(nanoUsd, { nil: undefined, freq: 3 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('kill' as const),
      process,
      during: fc.constantFrom<('anything' | 'tool')[]>('anything', 'tool'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop' as const), process }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stall' as const), process }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('deafen' as const), process, messages: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('fail' as const), process, after: fc.nat(6), isStored: fc.boolean() }),
  },
)

const onExceeded = fc.constantFrom<('stop' | 'pause')[]>('stop', 'pause')
/** Limits that are used up, or of which the begin of a run holds a small part. */
const limits = fc.oneof(
  { weight: 1, arbitrary: fc.record({ nanoUsd, tokens: fc.integer({ min: 100, max: 3000 }) }) },
  { weight: 1, arbitrary: fc.record({ nanoUsd: fc.integer({ min: 20_000, max: 100_000 }), tokens: fc.constant(30_000) }) },
)
const parts = fc.record({
  price: fc.integer({ min: 1, max: 3 }),
  reserved: fc.integer({ min: 50, max: 900 }),
  share: fc.constantFrom(0.01, 0.5, 1),
  onExceeded: fc.record({ hour: onExceeded, run: onExceeded }),
  raise: fc.constantFrom(0, 300, 2000),
})

const budget = fc.tuple(limits, parts).map(([limit, part]) => ({ ...limit, ...part }))

/** Schedules of which half have budgets, or all. */
export const plansWith = (budgets: 'half' | 'all'): fc.Arbitrary<Plan> =>
  fc.record({
    steps: fc
      .tuple(chat, fc.array(step, { minLength: 1, maxLength: 9, size: 'max' }))
      .map(([first, others]) => [first, ...others] as Step[]),
    picks: fc.array(fc.nat(63), { minLength: 0, maxLength: 160, size: 'max' }),
    broken: fc.uniqueArray(fc.nat(15), { maxLength: 3 }),
    budget: budgets === 'all' ? budget : fc.option(budget, { nil: undefined, freq: 2 }),
  })
