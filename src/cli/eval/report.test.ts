import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCases } from './cases.ts'
import type { Experiment, ExperimentResult } from '../../../client/src/index.ts'
import { toFinding, type VariantResult } from './findings.ts'
import { findShortfalls, toReport } from './report.ts'

const noEffects: VariantResult['effects'] = { same: 1, added: [], removed: [], changed: [] }

function resultOf(fields: Partial<VariantResult>, name = 'Order 9'): ExperimentResult {
  const candidate: VariantResult = {
    outcome: 'failed',
    output: 'Refunded.',
    divergence: null,
    proposed_writes: [],
    effects: noEffects,
    scores: [],
    cost: null,
    tokens: 10,
    duration_ms: 1500,
    request_id: 'e1:1',
    error: null,
    ...fields,
  }
  const recorded = { output: 'Done.', request_id: 'r1' }
  return {
    example_id: name,
    example_name: name,
    dataset_id: 'd1',
    repetition: 1,
    question: 'Refund order 9',
    recorded,
    baseline: null,
    candidate,
    proposed_writes: [],
  }
}

const refund = { tool: 'refund', tool_input: { order: 9 } }

function experimentOf(fields: Partial<Experiment> = {}, rate = 0): Experiment {
  const effects = { same: 1, added: 1, removed: 0, changed: 0 }
  const figures = { done: 1, passed: 0, failed: 1, diverged: 0, errors: 0, flaky: 0, cost: 0.25, judge_cost: null, tokens: 10, p50: 1500 }
  const scores = [{ name: 'effects', kind: 'effects' as const, mean: 0.5, passed: 0, failed: 1 }]
  const variant = { ...figures, scores, pass_rate: rate, effects }
  return {
    id: 'e1',
    status: 'completed',
    verdict: 'failed',
    error: null,
    created_at: '',
    started_at: null,
    ended_at: null,
    datasets: [{ id: 'd1', name: 'core', revision: 3, examples: 1 }],
    created_by: { issuer: 'agent-core', sub: 'boss' },
    scorers: [{ name: 'effects', kind: 'effects' }],
    tools: { on_miss: 'fail', live: [] },
    revision: 3,
    repetitions: 1,
    total: 2,
    done: 2,
    variants: [
      { ...variant, name: 'baseline', kind: 'version', version: 'v1', config_hash: 'a'.repeat(64) },
      { ...variant, name: 'candidate', kind: 'text', version: null, config_hash: 'b'.repeat(64) },
    ],
    effects,
    ...fields,
  }
}

test('the report begins with the proposed writes, and has variants, divergences and faults', () => {
  const experiment = experimentOf()
  const results = [
    resultOf({ effects: { ...noEffects, added: [refund], changed: [{ tool: 'mail', before: 'a', after: 'b' }], removed: [refund] } }),
    resultOf(
      { outcome: 'diverged', divergence: { reason: 'no_recording', call: { tool: 'stock', tool_input: {}, parent: null } } },
      'Order 10',
    ),
    resultOf(
      {
        scores: [{ name: 'effects', kind: 'effects', score: 0.5, passed: false, required: true, reason: '1 write added' }],
        error: 'The model is away.',
      },
      'Order 11',
    ),
  ]
  const report = toReport(
    experiment,
    results.map((result) => toFinding(result)),
  )
  assert.equal(
    report.join('\n'),
    `Experiment e1 on core (revision 3, 1 examples).

Proposed writes: 1 added, 0 changed, 0 removed, 1 as recorded.
  Order 9
    + refund {"order":9}
    ~ mail "a" -> "b"
    - refund {"order":9}

               baseline          candidate
configuration  v1                text bbbbbbbbbbbb
passed         0 of 1            0 of 1
pass rate      0 %               0 %
failed         1                 1
diverged       0                 0
errors         0                 0
new writes     1                 1
cost           0.25 USD          0.25 USD
tokens         10                10
median time    1.50 s            1.50 s
effects        0 of 1, mean 0.5  0 of 1, mean 0.5

First divergences
  Order 10
    The recording has no such call: stock {}

Failed
  Order 11
    The model is away.
    effects 0.5: 1 write added`,
  )
})

test('text of a model is one line that does not control the terminal, and long lists are cut', () => {
  const evil = 'a\u001B[2J\nb\u202Ec\u009B'
  const added = [{ tool: evil, tool_input: { [evil]: 'x'.repeat(1000) } }]
  const finding = toFinding(resultOf({ effects: { ...noEffects, added }, error: evil }, evil))
  const line = String.raw`a\u{1b}[2J b\u{202e}c\u{9b}`
  assert.deepEqual([finding.name, finding.faults], [line, [line]])
  assert.ok(finding.writes[0]!.startsWith(`+ ${line} {`) && finding.writes[0]!.length < 400, finding.writes[0])
  const findings = Array.from({ length: 75 }, (_, n) => ({ ...finding, example_id: String(n % 25) }))
  const report = toReport(experimentOf({ repetitions: 4 }), findings)
  assert.equal(report.filter((each) => each.includes('[2J b')).length, 20 * 4)
  assert.equal(report.filter((each) => each === `  ${line} (3 of 4)`).length, 20 * 2)
  assert.equal(report.filter((each) => each === '  and 5 more').length, 2)
  assert.ok(report.every((each) => !/[\p{Cc}\p{Cf}]/u.test(each)))
})

test('a rate that is nearly enough is not rounded up, and each shortfall is named', () => {
  const limits = { minPassRate: 0.95, maxAddedWrites: 0 }
  assert.deepEqual(findShortfalls(experimentOf({}, 0.9499), limits), [
    'the pass rate is 94.9 %, and must be at least 95 %',
    'writes added or changed: 1, at most 0 are allowed',
  ])
  assert.deepEqual(findShortfalls(experimentOf({}, 0.95), { ...limits, maxAddedWrites: 1 }), [])
  const changed = experimentOf({ effects: { same: 0, added: 0, removed: 2, changed: 3 } }, 1)
  assert.deepEqual(findShortfalls(changed, limits), ['writes added or changed: 3, at most 0 are allowed'])
  const removed = experimentOf({ done: 1 }, 1)
  assert.deepEqual(findShortfalls(removed, { ...limits, maxAddedWrites: 1 }), ['only 1 of 2 replays have a result'])
})

test('a report of JUnit has a suite for each dataset, and added or changed writes fail a case that its scorers pass', () => {
  const cases = createCases(experimentOf({ datasets: ['d1', 'd2'].map((id) => ({ id, name: `of ${id}`, revision: 1, examples: 1 })) }))
  cases.add(resultOf({ outcome: 'passed' }))
  cases.add(resultOf({ outcome: 'passed', effects: { ...noEffects, added: [refund] } }, 'Order 10'))
  const changed = [{ tool: 'refund', before: { order: 9 }, after: { order: 11 } }]
  cases.add(resultOf({ outcome: 'passed', effects: { ...noEffects, changed } }, 'Order 11'))
  cases.add({ ...resultOf({ outcome: 'error', error: 'No reply.' }), dataset_id: 'd2' })
  const xml = cases.toXml()
  assert.deepEqual(xml.match(/<testsuite .*?>/g), [
    '<testsuite name="of d1" tests="3" failures="2" errors="0" time="4.500">',
    '<testsuite name="of d2" tests="1" failures="0" errors="1" time="1.500">',
  ])
  assert.ok(xml.includes('<testcase classname="of d1" name="Order 9" time="1.500"/>'), xml)
  assert.ok(xml.includes('<failure message="+ refund {&#34;order&#34;:9}">+ refund'), xml)
  assert.ok(xml.includes('<error message="No reply.">'), xml)
})
