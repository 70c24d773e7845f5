import assert from 'node:assert/strict'
import test from 'node:test'
import { hashOf } from '../hash.ts'
import { parseSource } from './change.ts'
import { createGate, overrideOrThrow, type GateEvidence } from './gate.ts'

const hourMs = 3_600_000
const now = 1000 * hourMs

const of = (...lines: string[]) => {
  const source = parseSource(lines.join('\n'))
  return { stored: source, used: source, pins: undefined }
}
const gated = of('releases: {gate: {dataset: core, max_added_writes: 1, max_age_hours: 2}}')
const ungated = of('name: Free')
const next = of('name: Next', 'releases: {gate: {dataset: core}}')

/** A gate whose evidence is the same for each question; `asked` lists the questions. */
function gateOf(evidence: GateEvidence | undefined) {
  const asked: string[] = []
  const gate = createGate({
    find: async (dataset, configHash) => {
      asked.push(`${dataset} ${configHash}`)
      return evidence
    },
    now: () => now,
  })
  return { gate, asked }
}

const experiment = { id: 'e', passRate: 0.95, added: 1, missing: 0, untried: 0, missed: 0, lacksScorers: false, endedAt: now - 2 * hourMs }

test('a configuration whose experiment is exactly as good as asked passes', async () => {
  const { gate, asked } = gateOf({ examples: 1, experiment })
  assert.equal(await gate(gated, next), undefined)
  assert.deepEqual(asked, [`core ${hashOf(next.used.config)}`])
})

test('each fault of the evidence refuses with its reason', async () => {
  const cases: [GateEvidence | undefined, RegExp][] = [
    [undefined, /dataset "core" does not exist/],
    [{ examples: 0, experiment }, /has no examples/],
    [{ examples: 1, experiment: undefined }, /no experiment on the dataset "core"/],
    [{ examples: 1, experiment: { ...experiment, endedAt: experiment.endedAt - 1 } }, /more than 2 h ago/],
    [{ examples: 1, experiment: { ...experiment, passRate: 0.949 } }, /pass rate is 0.949, and must be at least 0.95/],
    [{ examples: 1, experiment: { ...experiment, passRate: undefined } }, /pass rate is 0,/],
    [{ examples: 1, experiment: { ...experiment, lacksScorers: true } }, /what the scorers of the dataset "core" measure today/],
    [
      { examples: 9, experiment: { ...experiment, passRate: 0.2, untried: 4 } },
      /is 0.2, .*; replays that count as not passed: 4 that the dataset asks for today$/,
    ],
    [{ examples: 9, experiment: { ...experiment, passRate: 0.2, missed: 3 } }, /: 3 with a call that has no recording$/],
    [{ examples: 1, experiment: { ...experiment, added: 2 } }, /added or changed writes is 2, and must be at most 1/],
    [{ examples: 1, experiment: { ...experiment, missing: 1, passRate: 1 } }, /^1 of the replays has no result/],
  ]
  for (const [evidence, reason] of cases) {
    const refusal = await gateOf(evidence).gate(gated, next)
    assert.match(refusal!.reason, reason)
    assert.deepEqual([refusal!.configHash, refusal!.experiment], [hashOf(next.used.config), evidence?.experiment])
  }
})

test('the gate of the running configuration decides: no change removes the gate, and none is asked for the change that adds it', async () => {
  const { gate, asked } = gateOf(undefined)
  assert.ok(await gate(gated, ungated))
  assert.equal(asked.length, 1)
  assert.equal(await gate(ungated, gated), undefined)
  assert.equal(asked.length, 1)
})

test('a change without a difference, and the way back to the stored configuration, need no experiment', async () => {
  const { gate, asked } = gateOf(undefined)
  assert.equal(await gate(gated, of('# the same', 'releases: {gate: {max_age_hours: 2, max_added_writes: 1, dataset: core}}')), undefined)
  assert.equal(await gate({ stored: next.stored, used: gated.used, pins: undefined }, next), undefined)
  assert.deepEqual(asked, [])
})

test('a text that is stored for the next start is judged beside the configuration in use', async () => {
  const { gate, asked } = gateOf(undefined)
  const refusal = await gate(gated, { stored: next.stored, used: gated.used, pins: undefined })
  assert.equal(refusal?.configHash, hashOf(next.stored.config))
  assert.equal(asked.length, 1)
})

test('an override is part of the record only where the gate refuses', async () => {
  const refusal = (await gateOf(undefined).gate(gated, next))!
  assert.deepEqual(overrideOrThrow(undefined, 'urgent'), {})
  assert.deepEqual(overrideOrThrow(refusal, 'urgent'), { override: { reason: 'urgent', refusal } })
  assert.throws(() => overrideOrThrow(refusal, undefined), { code: 'gate_not_passed' })
})
