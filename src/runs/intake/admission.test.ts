import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../configuration/agent.ts'
import { createAdmission, type Load } from './admission.ts'

const ann = { tenant: 't', owner: 'agent-core ann', roles: ['user'] }

function admissionWith(elsewhere: number, stored: number) {
  const config = { limits: { max_runs: 100 }, access: { rate_limits: { user: { concurrent_runs: 2 } } } }
  const asked: unknown[] = []
  const admission = createAdmission({
    agent: () => ({ config }) as unknown as Agent,
    overload: () => undefined,
    runsElsewhere: () => elsewhere,
    countRuns: async (who) => (asked.push(who), stored),
  })
  const load = (own: number): Load => ({ total: own, countUnended: () => own, countOfCaller: () => own })
  return { asked, refuse: async (own: number) => (await admission.refuseRun(ann, load(own)))?.code, admission, load }
}

test('the last tenth of all runs is for callers that have few of them', async () => {
  const config = { limits: { max_runs: 100 }, access: { rate_limits: {} } }
  const admission = createAdmission({ agent: () => ({ config }) as unknown as Agent, overload: () => undefined })
  const refuse = async (all: number, own: number) =>
    (await admission.refuseRun(ann, { total: all, countUnended: () => all, countOfCaller: () => own }))?.message
  assert.equal(await refuse(89, 89), undefined)
  assert.equal(await refuse(90, 90), 'The service takes nothing new now: 90 of your runs have not ended, of 100 that there may be.')
  assert.equal(await refuse(95, 10), 'The service takes nothing new now: 10 of your runs have not ended, of 100 that there may be.')
  assert.equal(await refuse(99, 9), undefined)
  assert.equal(await refuse(100, 0), 'The service takes nothing new now: 100 runs have not ended.')
})

test('who has fewer runs than allowed here and elsewhere begins another, and nobody is asked', () => {
  const { admission, load, asked } = admissionWith(1, 99)
  assert.equal(admission.refuseRun(ann, load(0)), undefined)
  assert.deepEqual(asked, [])
})

test('who has too many here is refused, and nobody is asked', async () => {
  const { refuse, asked } = admissionWith(0, 0)
  assert.deepEqual({ refuse: await refuse(2), askedCount: asked.length }, { refuse: 'rate_limited', askedCount: 0 })
})

test('who seems to have too many elsewhere is refused only where the store says so too', async () => {
  const { refuse, asked } = admissionWith(1, 2)
  assert.equal(await refuse(1), 'rate_limited')
  assert.deepEqual(asked, [ann])
  assert.equal(await admissionWith(5, 1).refuse(0), undefined)
})
