import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModuleContext } from 'agent-core'
import tool from './tools/working_days.ts'

/** What the service gives a call: here with a log that the tests read. */
function createContext(): ModuleContext & { lines: string[] } {
  const lines: string[] = []
  return {
    lines,
    callId: 'call-1',
    session: 'session-1',
    signal: new AbortController().signal,
    headers: {},
    filters: [],
    log: (line) => void lines.push(line),
    artifact: () => Promise.reject(new Error('The tool makes no files.')),
  }
}

const run = (input: Parameters<typeof tool.execute>[0]) => tool.execute(input, createContext())

test('both days count, weekends and holidays do not', () => {
  assert.deepEqual(run({ from: '2026-12-21', to: '2026-12-31' }), { working_days: 9 })
  assert.deepEqual(run({ from: '2026-12-21', to: '2026-12-31', holidays: ['2026-12-24', '2026-12-25', '2026-12-26'] }), { working_days: 7 })
  assert.deepEqual(run({ from: '2026-12-19', to: '2026-12-20' }), { working_days: 0 })
})

test('a fault is a sentence that the model can act on', () => {
  assert.throws(() => run({ from: '2026-12-31', to: '2026-12-21' }), { message: '2026-12-21 is before 2026-12-31.' })
  assert.throws(() => run({ from: '2026-02-30', to: '2026-03-01' }), { message: '2026-02-30 is not a date.' })
})

test('callers can read how the tool counted', () => {
  const context = createContext()
  void tool.execute({ from: '2026-12-21', to: '2026-12-27', holidays: ['2026-12-25'] }, context)
  assert.deepEqual(context.lines, ['7 days, 5 weekdays, 1 holidays'])
})
