import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TailBatch } from '../../src/runs/ownership/remote/tail.ts'
import type { RunKey } from '../../src/runs/run.ts'
import type { Database } from '../../src/store/database.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createRunTails } from '../../src/store/runs/logs.ts'
import { endOf, hour, newRun, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('what readers elsewhere find', registerTailContract)

const batch = ({ tenant, owner, requestId }: RunKey, fence: number, first: number, last: number): TailBatch => {
  const lengths = Array.from({ length: last - first + 1 }, () => 1)
  const events: TailBatch['events'] = [{ type: 'texts', label: 'answer', text: 'x'.repeat(lengths.length), lengths }]
  return { tenant, owner, requestId, fence, first, last, attempt: { restored: 0, restoredAt: undefined }, events }
}

/** What readers on other replicas find of a run, and direct executions that come again there. */
function registerTailContract(database: () => Database): void {
  test('events of a run are read in order after a number, from one process only', async () => {
    const { start, tenant } = storeOf(database())
    const { run } = await start()
    const tails = createRunTails(database())
    const attempt = { restored: 3, restoredAt: 2 }
    await tails.append(tenant, [batch(run, 1, 4, 9), { ...batch(run, 1, 1, 3), attempt }, batch(run, 2, 1, 2)])
    await tails.append(tenant, [batch(run, 1, 4, 5)])
    const placesOf = async (fence: number, after: number) =>
      (await tails.read(run, fence, after)).map(({ first, last }) => `${first}-${last}`)
    assert.deepEqual(await placesOf(1, 0), ['1-3', '4-9'])
    assert.deepEqual(await placesOf(1, 3), ['4-9'])
    assert.deepEqual(await placesOf(1, 9), [])
    assert.deepEqual(await placesOf(2, 0), ['1-2'])
    assert.deepEqual((await tails.read(run, 1, 0))[0], { first: 1, last: 3, attempt, events: batch(run, 1, 1, 3).events })
    assert.deepEqual(await tails.read({ ...run, owner: 'agent-core eve' }, 1, 0), [])
  })

  test('tails are deleted without readers, at the end of the run, and after a takeover', async () => {
    const { start, store, tenant } = storeOf(database())
    const tails = createRunTails(database())
    const runs = []
    for (const requestId of ['read', 'runs', 'ended']) {
      const one = await start({ requestId, sessionId: requestId })
      runs.push(one)
      await tails.append(tenant, [batch(one.run, 1, 1, 2)])
    }
    const [read, goesOn, ended] = runs as [(typeof runs)[0], (typeof runs)[0], (typeof runs)[0]]
    await tails.remove(read.run)
    await tails.append(tenant, [batch(goesOn.run, 0, 1, 2)])
    await store.finish(ended.run, 1, endOf(ended.turn))
    await tails.sweep()
    const left = await Promise.all(runs.map(async ({ run }) => (await tails.read(run, 1, 0)).length))
    assert.deepEqual([...left, (await tails.read(goesOn.run, 0, 0)).length], [0, 1, 0, 0])
  })

  test('a direct execution that is done again belongs to who does so: the first result is kept, and a late one changes nothing', async () => {
    const executions = createExecutionStore(database())
    const { tenant } = storeOf(database())
    const one = newRun({ tenant, requestId: 'x', holder: 'p1', now: hour })
    const result = (output: string) => ({ tool_name: 't', output, execution_time: 1, status: 'success' as const })
    assert.equal(await executions.begin(one), undefined)
    const known = await executions.begin(one)
    assert.deepEqual({ holder: known?.holder, fence: known?.fence, result: known?.result }, { holder: 'p1', fence: 1, result: undefined })
    await executions.finish(one, 1, { result: undefined, now: hour })
    assert.equal((await executions.find(one))?.holder, undefined)
    const taken = await Promise.all(['p2', 'p3'].map((holder) => executions.takeOver(one, 1, holder)))
    assert.equal(taken.filter(Boolean).length, 1)
    await executions.finish(one, 1, { result: result('late'), now: hour })
    assert.equal((await executions.find(one))?.result, undefined)
    await executions.finish(one, 2, { result: result('second'), now: hour })
    assert.equal(await executions.takeOver(one, 2, 'p4'), false)
    assert.deepEqual((await executions.find(one))?.result?.output, 'second')
  })
}
