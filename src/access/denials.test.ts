import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createDenials, type Denial } from './denials.ts'

const ann = { tenant: 't', issuer: 'agent-core', sub: 'ann', keyId: 'k' }
const start = Date.parse('2026-12-01T08:00:30Z')

function open(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: start })
  const recorded: [tenant: string, Denial[]][] = []
  const state = { fails: false }
  const errors: unknown[] = []
  const denials = createDenials({
    async record(tenant, rows) {
      if (state.fails) throw new Error('away')
      recorded.push([tenant, [...rows]])
    },
    adminTenant: 'admins',
    now: Date.now,
    onError: (error) => void errors.push(error),
  })
  const refuse = (caller = ann, access = ['keys.manage'] as const) => denials.count(caller, { access, route: 'GET /core/v1/keys' })
  /** Lets the time pass, and what is recorded then settle. */
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms)
    for (let turns = 0; turns < 10; turns += 1) await Promise.resolve()
  }
  return { denials, refuse, recorded, errors, state, pass }
}

const counts = (recorded: [string, Denial[]][]) =>
  recorded.flatMap(([tenant, rows]) =>
    rows.map(({ acting, act }) => [tenant, acting.sub, act.target, act.data?.['count'], act.data?.['minute']]),
  )

test('refusals of a caller, a minute and a permission are one event with their number', async (t) => {
  const { refuse, denials, recorded, pass } = open(t)
  refuse()
  refuse()
  denials.count(ann, { route: 'PUT /core/v1/agent/config' })
  refuse({ ...ann, sub: 'bob', tenant: 'u' })
  assert.equal(recorded.length, 0, 'nothing is recorded while requests are refused')
  await pass(30_000)
  assert.deepEqual(counts(recorded), [
    ['t', 'ann', 'permission:keys.manage', 2, '2026-12-01T08:00:00.000Z'],
    ['t', 'ann', 'route:PUT /core/v1/agent/config', 1, '2026-12-01T08:00:00.000Z'],
    ['u', 'bob', 'permission:keys.manage', 1, '2026-12-01T08:00:00.000Z'],
  ])
  assert.deepEqual(recorded[0]?.[1][0]?.acting, { issuer: 'agent-core', sub: 'ann', keyId: 'k' })
  refuse()
  await pass(60_000)
  assert.deepEqual(counts(recorded).at(-1), ['t', 'ann', 'permission:keys.manage', 1, '2026-12-01T08:01:00.000Z'])
  await pass(600_000)
  assert.equal(recorded.length, 3)
})

test('what could not be recorded is recorded a minute later, with what was counted since', async (t) => {
  const { refuse, recorded, errors, state, pass } = open(t)
  refuse()
  state.fails = true
  await pass(30_000)
  assert.equal(errors.length, 1)
  state.fails = false
  refuse()
  await pass(60_000)
  assert.deepEqual(
    counts(recorded).map(([, , , count, minute]) => [count, minute]),
    [
      [1, '2026-12-01T08:00:00.000Z'],
      [1, '2026-12-01T08:01:00.000Z'],
    ],
  )
})

test('the memory is bounded: refusals of more than a thousand callers are counted together', async (t) => {
  const { refuse, recorded, denials } = open(t)
  for (let n = 0; n < 1500; n += 1) refuse({ ...ann, sub: `caller ${n}` })
  await denials.close()
  const rows = counts(recorded)
  assert.equal(rows.length, 1001)
  assert.deepEqual(rows.at(-1), ['admins', 'service', 'callers:others', 500, '2026-12-01T08:00:00.000Z'])
})

test('the end records what was counted, refused sign-ins too', async (t) => {
  const { denials, recorded } = open(t)
  denials.countSignIn()
  denials.countSignIn()
  await denials.close()
  assert.deepEqual(
    recorded.flatMap(([tenant, rows]) =>
      rows.map(({ acting, act }) => [tenant, acting.issuer, act.action, act.outcome, act.data?.['count']]),
    ),
    [['admins', 'unknown', 'console.signed_in', 'refused', 2]],
  )
})
