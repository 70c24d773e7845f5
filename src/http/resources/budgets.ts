import { BudgetLimit, budgetScopes, budgetWindows } from '../../configuration/budget-schema.ts'
import {
  replies,
  route,
  Id,
  Offset,
  orNull,
  namedObject,
  closed,
  object,
  pageFields,
  pageLimit,
  maybe,
  Amounts,
} from '../schemas/shared.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { Overrides } from '../../budgets/change-overrides.ts'
import type { BudgetView, ListBudgets } from '../../budgets/windows-list.ts'
import { accessTo } from '../../access/permissions.ts'
import { invalid } from '../../errors.ts'
import { parseTime, timeFault } from '../../json/time.ts'
import { NamedText } from '../named-runs.ts'
import { principalOf } from '../server/authenticate.ts'

const Name = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'The name of a budget of agent.yaml.' })

const time = (description: string) => Type.String({ format: 'date-time', description })

const Budget = namedObject('Budget', 'The current window of a budget: its limit, and what is spent. USD are exact to 10^-9.', {
  name: Type.String(),
  scope: Type.Enum([...budgetScopes]),
  window: orNull(Type.Enum([...budgetWindows]), 'Null for a run and a session, whose life is the window.'),
  subject: Type.String({
    description: 'What has the limit: a request id, a session id, a caller as `<issuer> <sub>`, a tenant, or `*` for the service.',
  }),
  issuer: Type.Optional(Type.String({ description: 'The issuer of the caller of a run, session or caller.' })),
  sub: Type.Optional(Type.String({ description: 'The `sub` of the caller.' })),
  limit: object('The limit in force: that of an override until its time, otherwise that of agent.yaml.', Amounts.properties),
  spent: object('What the model calls that have ended did cost.', Amounts.properties),
  reserved: object('The most that the running model calls may cost.', Amounts.properties),
  overrun: object('The part of `spent` that providers counted beyond the estimated input of their calls.', Amounts.properties),
  remaining: object('The limit without `spent` and `reserved`.', Amounts.properties),
  override: Type.Optional(
    object('A limit that applies in place of that of agent.yaml.', {
      limit: Amounts,
      until: time('The end of the override.'),
      by: Type.String({ description: 'The `sub` of the caller who has set the override.' }),
    }),
  ),
  resets_at: orNull(time('When the next window begins.'), 'Null where the window does not end.'),
  timezone: Type.Optional(Type.String({ description: 'The zone in which windows begin. Absent where the window does not end.' })),
  on_exceeded: Type.Enum(['stop', 'pause']),
})

export const BudgetPage = namedObject('BudgetPage', { budgets: Type.Array(Budget), ...pageFields })

const Query = Type.Object({
  name: Type.Optional(Name),
  scope: Type.Optional(Type.Enum([...budgetScopes], { description: 'Only budgets of this scope.' })),
  session_id: Type.Optional(Id),
  request_id: Type.Optional(Id),
  limit: pageLimit,
  before: Offset,
})

const subjectText =
  'What has the limit, as `GET /core/v1/budgets` shows it. Default: the caller or the tenant of the key. Required for a run and a session, whose id `<issuer> <sub>` may follow after a blank.'

const Subject = Type.String({ minLength: 1, maxLength: 1500, pattern: '^[^\\u0000]*$', description: subjectText })

const Body = closed({
  subject: maybe(Subject),
  limit: BudgetLimit,
  until: Type.String({
    maxLength: 40,
    description: 'When the limit of agent.yaml applies again: an ISO 8601 time with its zone, at most the end of the window.',
  }),
})

const params = Type.Object({ name: Name })

const tag = 'Budgets'

const path = '/core/v1/budgets'

const whoMay = `Limits of the scopes \`tenant\` and \`service\` are changed with a key of the administrators' tenant alone, the others by an \`admin\` of the tenant: otherwise 403. Take \`name\` from \`GET ${path}\`; a name that is not in agent.yaml is 404.`

interface BudgetServices {
  listBudgets: ListBudgets
  overrides: Overrides
}

/** Routes of budgets: what is spent, and limits that apply for a time. */
export const budgetRoutes = [listRoute, overrideRoute, clearRoute] as const

function listRoute(app: App, { listBudgets }: BudgetServices): void {
  app.get(
    path,
    route(accessTo.readRun, tag, {
      summary: 'List budgets with what is spent',
      description:
        "The current windows of a caller's own budgets: of the caller, its sessions and its runs. With the permission `observability.read` also those of the tenant and of all its callers, and in the administrators' tenant those of the service. The windows of the caller, the tenant and the service come first, in the order of agent.yaml, and are listed before their first model call too.",
      text: 'Use it to see how much is left. `spent` counts every model call: of runs and their sub-agents, summaries, memories, embeddings of a provider. `session_id` selects the windows of a session, `request_id` those of a run. Without `budgets` in agent.yaml, the list is empty.',
      parameters: { name: 'caller-day', scope: 'caller' },
      querystring: Query,
      response: replies({ 200: BudgetPage }, 422),
    }),
    async (request) => {
      const { name, scope, session_id: sessionId, request_id: requestId, limit, before } = request.query
      return listBudgets(principalOf(request), { name, scope, sessionId, requestId, limit, before })
    },
  )
}

function overrideRoute(app: App, { overrides }: BudgetServices): void {
  app.put(
    `${path}/:name/override`,
    route('budgets.write', tag, {
      summary: 'Replace the limit of a budget until a time',
      description:
        'Sets the limit of the current window in place of that of agent.yaml. The next model call counts with the new limit; the window and what is spent stay. A second override replaces the first.',
      text: `Use it to let a caller go on whose budget is used up, or to stop one. ${whoMay}

- 409 \`AboveTenantBudget\`: the limit of a caller would be above that of its tenant.
- 422: \`until\` is in the past or behind the end of the window, or \`limit\` has a part that the budget does not limit.`,
      examples: {
        raise: {
          summary: 'More tokens for a run',
          value: { subject: '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11', limit: { tokens: 500_000 }, until: '2099-12-31T23:59:59Z' },
        },
      },
      parameters: { name: 'run' },
      params,
      body: Body,
      response: replies({ 200: Budget }, 404, 409, 422),
    }),
    async (request) => {
      const { name } = request.params
      const { subject, limit, until } = request.body
      const wanted = { name, subject: subject ?? undefined, at: 'body', limit, until: toTime(until) } as const
      return logged(request, await overrides.set(principalOf(request), wanted))
    },
  )
}

function clearRoute(app: App, { overrides }: BudgetServices): void {
  app.delete(
    `${path}/:name/override`,
    route('budgets.write', tag, {
      summary: 'Restore the limit of agent.yaml',
      description: 'Removes the override of the current window. Without an override, nothing changes, and the answer is the same.',
      text: `Use it when an override is no longer needed before its time. ${whoMay}`,
      parameters: { name: 'run', subject: '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11' },
      params,
      querystring: Type.Object({ subject: NamedText(subjectText) }),
      response: replies({ 200: Budget }, 404, 409, 422),
    }),
    async (request) => {
      const { name } = request.params
      return logged(request, await overrides.clear(principalOf(request), { name, subject: request.query.subject, at: 'query' }))
    },
  )
}

function toTime(text: string): number {
  const time = parseTime(text)
  if (time === undefined) throw invalid(['body', 'until'], timeFault)
  return time
}

function logged(request: FastifyRequest, budget: BudgetView): BudgetView {
  const { owner, keyId, tenant } = principalOf(request)
  const { name, subject, limit, override } = budget
  request.log.info({ by: owner, byKey: keyId, tenant, budget: name, subject, limit, override }, 'The limit of a budget was changed')
  return budget
}
