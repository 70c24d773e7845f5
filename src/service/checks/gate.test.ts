import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GateEvidence } from '../../configuration/change/gate.ts'
import { hashOf } from '../../configuration/hash.ts'
import { parseAgentConfig } from '../../configuration/parse.ts'
import { checkGate } from './gate.ts'

const pins = { refunds: 'a'.repeat(64) }
const config = parseAgentConfig('releases: {gate: {dataset: core}}')

test('the check of the gate states what the configuration in use has achieved, and what no change can pass', async () => {
  const check = async (evidence: GateEvidence | undefined) => {
    const findings = await checkGate(config, pins, async (dataset, hash) => {
      assert.deepEqual([dataset, hash], ['core', hashOf(config, pins)])
      return evidence
    })
    return findings.map(({ state, text }) => `${state} ${text}`)
  }
  assert.deepEqual(await check(undefined), [`warn gate: the administrators' tenant has no dataset "core"`])
  assert.deepEqual(await check({ examples: 0, experiment: undefined }), ['warn gate: the dataset "core" has no examples'])
  assert.deepEqual(await check({ examples: 2, experiment: undefined }), [
    'ok gate: on, with the dataset "core"; no experiment has tried the configuration in use',
  ])
  assert.deepEqual(
    await check({
      examples: 2,
      experiment: { id: 'e', passRate: 0.5, added: 3, missing: 0, untried: 0, missed: 0, lacksScorers: false, endedAt: 0 },
    }),
    [
      'ok gate: on, with the dataset "core"; newest experiment of the configuration in use: e, pass rate 0.5, 3 added or changed writes, ended 1970-01-01T00:00:00.000Z',
    ],
  )
})

test('a configuration without a gate is not looked up', async () => {
  assert.deepEqual(await checkGate(parseAgentConfig(''), {}, () => assert.fail('asked')), [])
})
