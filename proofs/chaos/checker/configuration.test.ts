import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation, OperationOf } from '../history/operations.ts'
import { checkConfiguration } from './configuration.ts'
import { toFacts } from './facts.ts'
import { pick, remove, testProperty } from './seeded-anomalies-fixture.ts'
import { createSimulation, simulate } from './simulated-history-fixture.ts'

const isApplied = ({ result }: OperationOf<'write configuration'>) => result === 'ok'
const laterThan = (ms: number) => (operation: { invokedAt: number }) => operation.invokedAt > ms

testProperty('configuration', checkConfiguration, {
  'two writes after the same version': {
    wrong: (history, random) =>
      void Object.assign(
        pick(history, 'write configuration', random, ({ status }) => status === 412),
        { result: 'ok', status: 200, reply: { version: 'x' } },
      ),
    found: /both follow v\d+/,
  },
  'a write that is lost': {
    wrong: (history, random) =>
      remove(
        history,
        pick(history, 'write configuration', random, (write) => isApplied(write) && laterThan(5000)(write)),
      ),
    found: /nobody wrote|one line/,
  },
  'a write that is confirmed before the version it follows is written': {
    wrong: (history, random) => {
      const write = pick(history, 'write configuration', random, (candidate) => isApplied(candidate) && laterThan(20_000)(candidate))
      Object.assign(write, { invokedAt: 1000, endedAt: 1001 })
    },
    found: /was written after .*, which follows it, was confirmed/,
  },
  'a refusal of the current version': {
    wrong: (history, random) => {
      const refused = pick(history, 'write configuration', random, ({ status }) => status === 412)
      const [first, second] = history
        .filter(
          (operation): operation is Operation & OperationOf<'write configuration'> =>
            operation.kind === 'write configuration' && operation.result === 'ok',
        )
        .slice(10, 12)
      const at = (first!.endedAt + second!.invokedAt) / 2
      Object.assign(refused, { args: { ...refused.args, ifMatch: first!.reply!.version }, invokedAt: at, endedAt: at + 1 })
    },
    found: /was refused, though it was current/,
  },
  'a process that goes back': {
    wrong: (history, random) =>
      void (pick(history, 'read configuration', random, laterThan(30_000)).reply = { version: 'v1', value: 'value 1' }),
    found: /shows v1 after v\d+/,
  },
  'a version that is shown before it is written': {
    wrong: (history, random) =>
      void (pick(history, 'read configuration', random, (read) => read.invokedAt < 30_000).reply = { version: 'v60', value: 'value 60' }),
    found: /shows v60 before it was written/,
  },
  'a version that nobody wrote': {
    wrong: (history, random) => void (pick(history, 'read configuration', random, laterThan(5000)).reply = { version: 'x', value: 'x' }),
    found: /nobody wrote/,
  },
  'an old version long after the change': {
    wrong: (history, random) => {
      const read = pick(history, 'read configuration', random, laterThan(30_000))
      Object.assign(read, { process: 'replica-2#1', reply: { version: 'v2', value: 'value 2' } })
    },
    found: /shows v2 \d+ ms after its change/,
  },
})

test('configuration: a write without an answer may be applied or not', () => {
  for (const isSeen of [true, false]) {
    const history = structuredClone(simulate(1))
    const writes = history.filter((operation) => operation.kind === 'write configuration' && operation.result === 'ok')
    Object.assign(isSeen ? writes[10]! : writes.at(-1)!, { result: 'unknown', status: undefined, reply: undefined })
    assert.deepEqual(checkConfiguration(toFacts(history)), [])
  }
})

test('configuration: a write that the balancer has sent twice may have been applied before its refusal', () => {
  const refuse = (tries: number | undefined) => {
    const history = structuredClone(simulate(1))
    const writes = history.filter((operation) => operation.kind === 'write configuration' && operation.result === 'ok')
    Object.assign(writes[10]!, { result: 'fail', status: 412, reply: undefined, tries })
    return checkConfiguration(toFacts(history))
  }
  assert.deepEqual(refuse(2), [])
  assert.match(refuse(undefined).join(), /nobody wrote/)
})

test('configuration: a replica that is frozen or cut off may show an old version', () => {
  const history = structuredClone(simulate(1))
  const read = pick(history, 'read configuration', createSimulation(1).random, laterThan(30_000))
  Object.assign(read, { process: 'replica-2#1', reply: { version: 'v2', value: 'value 2' } })
  const fault = { name: 'replica frozen', replica: 'replica-2' }
  history.push({
    client: 'faults',
    process: undefined,
    kind: 'fault',
    args: fault,
    invokedAt: 3000,
    endedAt: read.invokedAt,
    result: 'ok',
    status: undefined,
    reply: {},
  })
  assert.deepEqual(checkConfiguration(toFacts(history)), [])
})

test('configuration: the first process after all had stopped may return to an earlier value', () => {
  const drop = (restarted: readonly string[]) => {
    const history = structuredClone(simulate(1))
    const writes = history.filter((operation) => operation.kind === 'write configuration' && operation.result === 'ok')
    const at = writes.at(-1)!.endedAt + 10_000
    const read = { client: 'a', kind: 'read configuration', args: {}, result: 'ok', status: 200 } as const
    for (const [n, process] of restarted.entries())
      history.push({ ...read, process, invokedAt: at + n, endedAt: at + n, reply: { version: 'dropped', value: 'value 3' } })
    return checkConfiguration(toFacts(history))
  }
  assert.deepEqual(drop(['replica-1#2', 'replica-2#2']), [])
  assert.deepEqual(drop(['replica-1#2', 'replica-1#1']), ['configuration: nobody wrote dropped'])
})
