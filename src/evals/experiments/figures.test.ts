import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noEffects, summarize, verdictOf, type DoneResult, type ResultFigures } from './figures.ts'

const resultOf = (changes: Partial<DoneResult> = {}, figures: Partial<ResultFigures> = {}): DoneResult => ({
  variant: 0,
  example: 'e1',
  repetition: 1,
  outcome: 'passed',
  ...changes,
  figures: { dataset: 0, cost: 1, tokens: 10, durationMs: 100, scores: [], effects: noEffects, ...figures },
})

test('cost, tokens, times and means leave out diverged examples; outcomes and effects count all', () => {
  const scores = (score: number) => [{ name: 'exact', kind: 'exact' as const, score, passed: score === 1 }]
  const effects = { same: 1, added: 2, removed: 0, changed: 0 }
  const results = [
    resultOf({}, { scores: scores(1), effects }),
    resultOf({ example: 'e2', outcome: 'failed' }, { cost: 3, durationMs: 300, scores: scores(0.5) }),
    resultOf({ example: 'e3', outcome: 'diverged' }, { cost: 100, tokens: 1000, durationMs: 1, effects }),
    resultOf({ example: 'e4', outcome: 'error' }, { cost: 2, tokens: 0, durationMs: 200 }),
  ]
  const [figures] = summarize(results, 1).variants
  const { done, passed, failed, diverged, errors, passRate, cost, tokens, p50 } = figures!
  assert.deepEqual([done, passed, failed, diverged, errors, passRate], [4, 1, 1, 1, 1, 0.25])
  assert.deepEqual([cost, tokens, p50], [6, 20, 200])
  assert.deepEqual(figures!.scores, [{ name: 'exact', kind: 'exact', mean: 0.75, passed: 1, failed: 1 }])
  assert.deepEqual(figures!.effects, { same: 2, added: 4, removed: 0, changed: 0 })
})

test('a cost is unknown where one is, an example is flaky whose repetitions differ, and nothing is known of no results', () => {
  const { cost: _cost, ...unpriced } = resultOf().figures
  const results = [resultOf(), { ...resultOf({ repetition: 2, outcome: 'failed' }), figures: unpriced }, resultOf({ example: 'e2' })]
  const [figures] = summarize(results, 1).variants
  assert.deepEqual([figures!.cost, figures!.flaky], [undefined, 1])
  const [empty] = summarize([], 1).variants
  assert.deepEqual([empty!.cost, empty!.passRate, empty!.p50, empty!.done], [undefined, undefined, undefined, 0])
})

test('the last variant alone decides, and a gate is told of the first dataset alone', () => {
  const results = [
    resultOf({ outcome: 'failed' }),
    resultOf({ variant: 1 }, { effects: { ...noEffects, added: 1, changed: 2 } }),
    resultOf({ variant: 1, example: 'e2', outcome: 'failed' }),
    resultOf({ variant: 1, example: 'e3' }, { dataset: 1, effects: { ...noEffects, added: 5 } }),
  ]
  assert.deepEqual(summarize(results, 2).gate, { done: 2, passed: 1, missed: 0, added: 3 })
  const missed = [resultOf({}, { missed: true }), resultOf({ example: 'e2' })]
  assert.deepEqual(summarize(missed, 1).gate, { done: 2, passed: 1, missed: 1, added: 0 })
  assert.equal(verdictOf(summarize(results, 2), 3), 'failed')
  assert.equal(verdictOf(summarize(results.slice(0, 2), 2), 1), 'passed')
  assert.equal(verdictOf(summarize(results.slice(0, 2), 2), 2), 'failed')
  assert.equal(verdictOf(summarize([], 2), 0), 'failed')
})
