import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DataFilter } from '../../agent/tool.ts'
import type { HistoryMessage } from '../run-store.ts'
import { commonHints, hintNames, summaryUnder, underFilters } from './filters.ts'

const north: DataFilter = { tool: 'sales', key: 'region', type: 'equals', value: 'North' }
const year: DataFilter = { tool: 'sales', key: 'year', type: 'equals', value: '2025' }
const answer = (...filters: DataFilter[]): HistoryMessage => {
  const hints = filters.length > 0 ? { hints: hintNames(filters) } : {}
  return { idx: 1, role: 'ai', content: 'secret', data: { requestId: 'r', finishReason: 'stop', ...hints } }
}
const isShown = (under: DataFilter[], message: HistoryMessage) => underFilters(under, [message])[0]!.content === 'secret'

test('a run sees the answers of runs that had all of its hints, or more', () => {
  assert.ok(isShown([], answer()))
  assert.ok(isShown([], answer(north)))
  assert.ok(!isShown([north], answer()))
  assert.ok(isShown([north], answer(north)))
  assert.ok(isShown([north], answer(year, north)))
  assert.ok(!isShown([north, year], answer(north)))
  assert.ok(isShown([north, year], answer(year, north)))
  assert.ok(!isShown([{ ...north, value: 'South' }], answer(north)))
})

test('the replacement of a withheld answer contains nothing of the answer', () => {
  const [withheld] = underFilters(
    [north],
    [{ ...answer(), data: { ...answer().data, transcript: [{ role: 'user', text: 'secret' }], reasoning: ['secret'] } }],
  )
  assert.doesNotMatch(JSON.stringify(withheld), /secret/)
  assert.deepEqual({ idx: withheld!.idx, role: withheld!.role, data: withheld!.data }, { idx: 1, role: 'ai', data: { requestId: 'r' } })
})

test('a summary is shown only if all of its answers may be shown; system messages are always shown', () => {
  const human: HistoryMessage = { idx: 0, role: 'human', content: 'x', data: undefined }
  assert.deepEqual(commonHints(undefined, [human, answer(north, year), answer(north)]), hintNames([north]))
  assert.deepEqual(commonHints(hintNames([north]), [answer()]), [])
  assert.deepEqual(commonHints(undefined, [human]), undefined)
  const summary = { text: 'secret', system: 'Speak French.' }
  assert.deepEqual(summaryUnder([north], summary), { text: '', system: 'Speak French.' })
  assert.deepEqual(summaryUnder([], summary), summary)
  assert.equal(summaryUnder([north], { text: 'secret', hints: hintNames([north, year]) })?.text, 'secret')
  assert.equal(summaryUnder([north, year], { text: 'secret', hints: hintNames([north]) }), undefined)
})
