import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from '@prometheus-io/client'
import { PhaseTimes } from '../concurrency/phase-times.ts'
import { EventLog } from '../runs/log/event-log.ts'
import type { Step } from '../agent/events.ts'
import type { LiveRun } from '../runs/ownership/live-run.ts'
import { createRunMeter } from './meters.ts'

function start(toolNames: readonly string[]) {
  const registry = new Registry()
  const meter = createRunMeter([registry], () => 0)
  const run = { agent: { tools: { list: () => toolNames.map((name) => ({ name })) } } } as unknown as LiveRun
  const call = (tool: string, type: Step['type'] = 'tool_call') => {
    const step: Step = { id: 'c', type, tool, input: {}, startedAt: 0, log: '', output: '', status: 'success', durationMs: 5 }
    meter.observer.saw(run, { type: 'step_end', step })
  }
  const labels = async () => new Set([...(await registry.metrics()).matchAll(/_seconds_count\{tool="([^"]*)"/g)].map(([, tool]) => tool))
  return { meter, call, labels }
}

test("configured tools and the agent's own tools get labels; invented tools and sub-agents share one label each", async () => {
  const { call, labels } = start(['github__list_issues', 'calculator'])
  for (const tool of ['github__list_issues', 'calculator', 'find_tools', 'create_sub_agent', 'invented_by_a_model']) call(tool)
  call('sub_agent:somebody', 'sub_agent_call')
  assert.deepEqual(await labels(), new Set(['github__list_issues', 'calculator', 'find_tools', 'create_sub_agent', 'unknown', 'sub_agent']))
})

test('a server with ever new tool names creates a limited number of series', async () => {
  const names = Array.from({ length: 800 }, (_, n) => `s__tool_${n}`)
  const { meter, call, labels } = start(names)
  names.slice(0, 700).forEach((name) => call(name))
  for (const name of names) meter.executed(name, 'error', 1)
  const seriesLabels = await labels()
  assert.equal(seriesLabels.size, 501)
  assert.ok(seriesLabels.has('s__tool_0') && seriesLabels.has('other') && !seriesLabels.has('s__tool_799'))
})

test('a run that has ended is observed once in each phase, and an interrupted run is not', async () => {
  const registry = new Registry()
  const { observer } = createRunMeter([registry], () => 0)
  let now = 0
  const times = new PhaseTimes({ clock: () => now })
  times.restore({ queue: 0, store: 0, model: 250, tools: 0, people: 9000, own: 0 })
  times.begin('tools')
  now = 1500
  times.endAll('tools')
  const log = new EventLog()
  const run = { operation: 'chain', startedAt: 0, ranMs: 0, log, times, elapsedMs: () => 0 } as unknown as LiveRun
  log.append({ type: 'interrupt', at: 0, calls: [], usage: [], thoughts: [] })
  observer.ended(run)
  log.append({ type: 'end', reason: 'stop', usage: [], thoughts: [] })
  observer.ended(run)
  const text = await registry.metrics()
  const valuesOf = (series: string) =>
    Object.fromEntries(
      [...text.matchAll(/^agent_core_run_phase_seconds_(sum|count)\{phase="(\w+)"\} (.*)$/gm)]
        .filter(([, name]) => name === series)
        .map(([, , phase, value]) => [phase, Number(value)]),
    )
  assert.deepEqual(valuesOf('count'), { queue: 1, store: 1, model: 1, tools: 1, own: 1 })
  assert.deepEqual(valuesOf('sum'), { queue: 0, store: 0, model: 0.25, tools: 1.5, own: 0 })
})
