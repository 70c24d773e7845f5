import { Counter, Histogram, type Registry } from '@prometheus-io/client'
import type { Step } from '../agent/events.ts'
import { ownToolNames } from '../agent/tool-names.ts'
import type { ModelUsage } from '../agent/model.ts'
import type { LiveRun } from '../runs/ownership/live-run.ts'
import { statusOfEnd } from '../runs/log/outcome.ts'
import type { LoggedEvent } from '../runs/run.ts'
import type { RunObserver } from '../runs/run-observer.ts'

/** Records runs, model calls and tool calls when they end; nothing is recorded per token. */
export interface RunMeter {
  observer: RunObserver
  executed(tool: string, status: 'success' | 'error', seconds: number): void
}

const runSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1800]
const toolSeconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const firstTokenSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120]

const phaseSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const phaseNames = ['queue', 'store', 'model', 'tools', 'own'] as const

export function createRunMeter(registers: Registry[], now: () => number): RunMeter {
  const runs = new Histogram({
    name: 'agent_core_run_duration_seconds',
    help: 'Runs that ended, from when they had their session.',
    labelNames: ['operation', 'status'],
    buckets: runSeconds,
    registers,
  })
  const firstTokens = new Histogram({
    name: 'agent_core_run_first_token_seconds',
    help: 'From when a run had its session to its first text.',
    labelNames: ['operation'],
    buckets: firstTokenSeconds,
    registers,
  })
  const tokens = new Counter({
    name: 'agent_core_model_tokens_total',
    help: 'Tokens of model calls that ended.',
    labelNames: ['model', 'direction'],
    registers,
  })
  const cachedTokens = new Counter({
    name: 'agent_core_model_cached_tokens_total',
    help: 'Input tokens of model calls that ended, read from or written to the prompt cache of the provider. Part of the input.',
    labelNames: ['model', 'cache'],
    registers,
  })
  const tools = new Histogram({
    name: 'agent_core_tool_call_duration_seconds',
    help: 'Tool calls that ended, in runs and outside of them.',
    labelNames: ['tool', 'status'],
    buckets: toolSeconds,
    registers,
  })

  const held = new Counter({
    name: 'agent_core_containment_total',
    help: 'Calls that containment held: refuse (refused at once), approve (began to wait for a person), approved (executed after the decision), rejected, cancelled (the run was cancelled, or the time for the decision was over). Equal calls of a run wait as one, and each is counted when it ends.',
    labelNames: ['decision'],
    registers,
  })

  function countTokens({ model, input, output, cachedInput, cacheWrite = 0 }: ModelUsage): void {
    tokens.inc({ model, direction: 'input' }, input)
    tokens.inc({ model, direction: 'output' }, output)
    if (cachedInput > 0) cachedTokens.inc({ model, cache: 'read' }, cachedInput)
    if (cacheWrite > 0) cachedTokens.inc({ model, cache: 'write' }, cacheWrite)
  }

  const phases = new Histogram({
    name: 'agent_core_run_phase_seconds',
    help: 'Time that each run that ended has spent in a phase. Waits for approvals, client tools and readers are in none.',
    labelNames: ['phase'],
    buckets: phaseSeconds,
    registers,
  })
  const phaseMeters = phaseNames.map((phase) => ({ phase, meter: phases.labels({ phase }) }))

  const labelled = new Set<string>()

  /**
   * Records a tool call. Servers may invent tool names without end, so names beyond the limit share the label `other`.
   */
  function observeCall(tool: string, status: 'success' | 'error', seconds: number): void {
    if (labelled.size < maxToolNames) labelled.add(tool)
    tools.observe({ tool: labelled.has(tool) ? tool : 'other', status }, seconds)
  }

  function countCall(run: LiveRun, { tool, type, status, durationMs, containment }: Step): void {
    const decision = containment?.decided ?? containment?.decision
    // A call that waits is counted when its run is interrupted.
    if (decision && decision !== 'approve') held.inc({ decision })
    observeCall(type === 'sub_agent_call' ? 'sub_agent' : labelOf(run, tool, labelled), status, durationMs / 1000)
  }

  /** Counts the calls for which a run waits, or has waited until its end. */
  function countHeld(decision: 'approve' | 'cancelled', event: LoggedEvent | undefined): void {
    const calls = event?.type === 'interrupt' ? event.calls.filter(({ sources }) => sources) : []
    if (calls.length > 0) held.inc({ decision }, calls.length)
  }

  const observer: RunObserver = {
    started: () => undefined,
    saw(run, event) {
      if (isReplay(run)) return
      const observed = event.type === 'nested' ? event.event : event
      switch (observed.type) {
        case 'turn':
          return countTokens(observed.usage)
        case 'step_end':
        case 'result':
          if (observed.step.type === 'tool_call' || observed.step.type === 'sub_agent_call') countCall(run, observed.step)
          return
        case 'step_start':
        case 'instruction':
        case 'progress':
      }
    },
    ended(run) {
      const { operation, startedAt, firstTextAt, log } = run
      if (startedAt === undefined || !log.ended || isReplay(run)) return
      // Recorded once: a run that resumes after an interruption already had its first token.
      const isFirst = run.ranMs === 0
      if (isFirst && firstTextAt !== undefined) firstTokens.observe({ operation }, (firstTextAt - startedAt) / 1000)
      const end = log.events.at(-1)
      if (end?.type === 'interrupt') countHeld('approve', end)
      if (end?.type !== 'end') return
      if (end.reason === 'cancelled') countHeld('cancelled', log.events.at(-2))
      runs.observe({ operation, status: statusOfEnd(end.reason) }, run.elapsedMs(now()) / 1000)
      const sums = run.times.readAll()
      for (const { phase, meter } of phaseMeters) meter.observe(sums[phase] / 1000)
    },
  }
  return { observer, executed: observeCall }
}

/** Replays answer nobody: metrics are those of production. */
function isReplay({ operation }: LiveRun): boolean {
  return operation === 'experiment'
}

const maxToolNames = 500

/** The label of a tool: only names of real tools, because models invent names and must not create series. `knownNames`: labels so far. */
function labelOf(run: LiveRun, tool: string, knownNames: ReadonlySet<string>): string {
  return knownNames.has(tool) || ownToolNames.has(tool) || run.agent.tools.list().some(({ name }) => name === tool) ? tool : 'unknown'
}

/** Records the duration of a request; `route` is the route's pattern, which keeps the number of series small. */
export type RequestMeter = (method: string, route: string, status: number, seconds: number) => void

const bucketSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function createRequestMeter(registers: Registry[]): RequestMeter {
  const durations = new Histogram({
    name: 'agent_core_http_request_duration_seconds',
    help: 'HTTP requests until their answer is sent; of a stream, until its end.',
    labelNames: ['method', 'route', 'status'],
    buckets: bucketSeconds,
    registers,
  })
  return (method, route, status, seconds) => durations.observe({ method, route, status }, seconds)
}
