import { Type, type Static } from 'typebox'
import { isObject } from '../json/shape.ts'
import { isTimeZone } from '../json/time.ts'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'
import { optional, strict } from './schema-parts.ts'

/** The schema of `budgets`, and the rules that a schema cannot express. */

export const budgetScopes = ['run', 'session', 'caller', 'tenant', 'service'] as const
export const budgetWindows = ['hour', 'day', 'week', 'month'] as const

export type BudgetScope = (typeof budgetScopes)[number]
export type BudgetWindow = (typeof budgetWindows)[number]

/** One 10^-9 USD is the smallest amount; the largest stays far below the integers that a number holds exactly. */
export const maxUsd = 1_000_000
export const maxBudgetTokens = 1_000_000_000_000

/** What may be spent, in USD and in tokens. */
export const BudgetLimit = Type.Object(
  {
    usd: optional(Type.Number({ minimum: 0, maximum: maxUsd, description: 'USD, by the `prices` of the models.' })),
    tokens: optional(
      Type.Integer({ minimum: 0, maximum: maxBudgetTokens, description: 'Tokens of input and output, as the providers count them.' }),
    ),
  },
  { ...strict, minProperties: 1, description: 'What may be spent: `usd`, `tokens`, or both, each of which counts.' },
)

const names = (description: string) => optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 100, description }))

const Match = Type.Object(
  {
    tenants: names('The tenants.'),
    roles: names('Roles of which the caller has at least one.'),
    operations: names('Operations, such as `chain`, `chain_async` or `schedule`, as runs state them, and `experiment` for replays.'),
  },
  { ...strict, description: 'Which model calls count. Default: all.' },
)

const Budget = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'The name, unique in `budgets`: letters, digits, "_" and "-".' }),
    scope: Type.Enum([...budgetScopes], {
      description: 'What has a limit of its own: each run, session, caller or tenant, or the service as a whole.',
    }),
    window: optional(
      Type.Enum([...budgetWindows], {
        description:
          'How long the limit lasts; then it is whole again. Weeks begin on Monday. Runs and sessions have no window: their life is one.',
      }),
    ),
    timezone: Type.String({
      default: 'UTC',
      minLength: 1,
      description: 'The IANA time zone in which windows begin, such as `Europe/Berlin`.',
    }),
    limit: BudgetLimit,
    warn_at: optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'The share of the limit at which a warning is sent, once in a window. Default: none.',
      }),
    ),
    on_exceeded: Type.Enum(['stop', 'pause'], {
      default: 'stop',
      description: '`stop`: the run ends with what it has. `pause`: the run waits until the limit is raised, as for an approval.',
    }),
    match: optional(Match),
  },
  { ...strict, description: 'What model calls may cost.' },
)

export const Budgets = optional(
  Type.Array(Budget, {
    maxItems: 20,
    description: 'Limits of what model calls may cost. All that match a call apply, and the tightest decides. Default: none.',
  }),
)

export type Budget = Static<typeof Budget>

/** Faults that the schema cannot find: names given twice, windows of the wrong scopes, unknown time zones. */
export function checkBudgets(config: unknown): ConfigProblem[] {
  const budgets = isObject(config) && Array.isArray(config['budgets']) ? config['budgets'].slice(0, 20) : []
  const firstOf = new Map<unknown, number>()
  return budgets.flatMap((budget: unknown, index): ConfigProblem[] => {
    if (!isObject(budget)) return []
    const at = ['budgets', index]
    const { name } = budget
    const first = firstOf.get(name)
    if (first === undefined) firstOf.set(name, index)
    const twice = `"${String(name)}" is already the name of budgets[${first}]; choose another name`
    return [...(first === undefined ? [] : [problemAt([...at, 'name'], twice)]), ...checkWindow(budget, at), ...checkZone(budget, at)]
  })
}

function checkWindow({ scope, window }: Record<string, unknown>, at: Path): ConfigProblem[] {
  const isLife = scope === 'run' || scope === 'session'
  if (isLife && window !== undefined) return [problemAt([...at, 'window'], `must be left out: the window of a ${scope} is its life`)]
  if (!isLife && window === undefined) return [problemAt([...at, 'window'], `is required: ${budgetWindows.join(', ')}`)]
  return []
}

function checkZone({ timezone }: Record<string, unknown>, at: Path): ConfigProblem[] {
  if (typeof timezone !== 'string' || isTimeZone(timezone)) return []
  return [problemAt([...at, 'timezone'], `"${timezone}" is not an IANA time zone, such as Europe/Berlin`)]
}
