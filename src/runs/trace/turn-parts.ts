import type { Step, StepContainment, StepStart } from '../../agent/events.ts'
import type { JsonValue } from '../../agent/messages.ts'
import { planFrom } from '../../agent/plan.ts'
import type { LoggedEvent } from '../run.ts'
import type { InstructionRecord, ModelRecord, TraceRecord, AttemptRecord } from './records.ts'
import { runSpanId, toIso, type SpanPart, type SpanStatus } from './span.ts'

/** The turns of all agents of a run, the steps of plans, and the turns in which plans were made. */
interface TurnParts {
  turns: { part: SpanPart; record: ModelRecord }[]
  /** Steps of plans. */
  groups: SpanPart[]
  /** The parent of a step that makes a plan. */
  parentOfPlan: ReadonlyMap<string, string>
}

/** An agent of the run: the run's own, or a sub-agent inside of a call. */
interface AgentState {
  id: string
  turns: number
  plan: string[]
  /** Steps of the plan that were begun. */
  begun: number
  group: SpanPart | undefined
}

export function toTurnParts(records: readonly TraceRecord[], steps: ReadonlyMap<string, LoggedStep>): TurnParts {
  const models = records.filter((record): record is ModelRecord => record.type === 'model')
  const plans = claimPlans(models, steps)
  const agents = new Map<string, AgentState>()
  const parts = { turns: [] as TurnParts['turns'], groups: [] as SpanPart[], parentOfPlan: new Map<string, string>() }

  function agentOf(callId = runSpanId): AgentState {
    const agent = agents.get(callId) ?? { id: callId, turns: 0, plan: [], begun: 0, group: undefined }
    agents.set(callId, agent)
    return agent
  }

  function instruct({ instruction, at, n, callId }: InstructionRecord): void {
    const agent = agentOf(callId)
    if (instruction === 'change' && agent.group) agent.group.status = 'error'
    agent.group = instruction === 'step' ? toGroup(agent, n, at) : undefined
    if (agent.group) parts.groups.push(agent.group)
  }

  function addTurn(record: ModelRecord): void {
    const agent = agentOf(record.callId)
    const plan = plans.get(record)
    if (plan) {
      parts.parentOfPlan.set(plan.start.id, agent.id)
      const texts = plan.end ? toTexts(plan.end.output) : []
      agent.plan = plan.start.tool === 'plan' ? (texts.length > 0 ? texts : planFrom('')) : [...agent.plan.slice(0, agent.begun), ...texts]
    }
    const parent = plan?.start.id ?? agent.group?.id ?? agent.id
    const name = `Turn ${++agent.turns}`
    const { startedAt: started, endedAt: ended } = record
    const part: SpanPart = { id: turnId(record), parent, kind: 'turn', name, status: 'running', started, ended, attributes: {} }
    parts.turns.push({ part, record })
  }

  for (const record of inOrder(records)) {
    if (record.type === 'instruction') instruct(record)
    else addTurn(record)
  }
  return parts
}

/** Instructions before the model call with the same number. */
function inOrder(records: readonly TraceRecord[]): (InstructionRecord | ModelRecord)[] {
  const ordered = records.filter((record) => record.type === 'instruction' || record.type === 'model')
  const rank = ({ type }: TraceRecord) => (type === 'instruction' ? 0 : 1)
  return ordered.sort((a, b) => a.n - b.n || rank(a) - rank(b))
}

function toGroup(agent: AgentState, n: number, started: number): SpanPart {
  const text = agent.plan[agent.begun++]
  const name = `Step ${agent.begun} of ${Math.max(agent.plan.length, agent.begun)}${text === undefined ? '' : `: ${text}`}`
  const id = `step:${agent.id === runSpanId ? '' : `${agent.id}:`}${n}`
  return { id, parent: agent.id, kind: 'plan', name, status: 'running', started, ended: undefined, attributes: {} }
}

/** The model call of each plan: the first call of the same agent behind the start of the step. */
function claimPlans(models: readonly ModelRecord[], steps: ReadonlyMap<string, LoggedStep>): Map<ModelRecord, LoggedStep> {
  const plans = new Map<ModelRecord, LoggedStep>()
  for (const step of steps.values()) {
    if (step.start.type !== 'planning') continue
    const tool = step.start.subAgent === undefined ? undefined : `sub_agent:${step.start.subAgent}`
    const toolOf = ({ callId = '' }: ModelRecord) => steps.get(callId)?.start.tool
    const record = models.find((model) => model.from > step.at && toolOf(model) === tool && !plans.has(model))
    if (record) plans.set(record, step)
  }
  return plans
}

function toTexts(output: unknown): string[] {
  return Array.isArray(output) ? output.filter((text) => typeof text === 'string') : []
}

function turnId({ n }: Pick<ModelRecord, 'n'>): string {
  return `turn:${n}`
}

export function modelId({ n }: Pick<ModelRecord, 'n'>): string {
  return `model:${n}`
}

/** The span of a model call, inside of its turn. `endedAt` is the end of the run, if the run has ended. */
export function toModelPart(record: ModelRecord, events: readonly LoggedEvent[], endedAt: number | undefined): SpanPart {
  const { usage, startedAt } = record
  const ended = record.endedAt ?? endedAt
  const attempts = record.attempts ?? (usage ? [{ model: usage.model, startedAt, ...(ended === undefined ? {} : { endedAt: ended }) }] : [])
  const status = statusOf(record, ended !== undefined)
  const model = usage?.model ?? attempts.at(-1)?.model ?? ''
  const { output, reasoning } = textsOf(record, events)
  const { firstTextAt, finish, cost } = record
  const error = status === 'error' ? attempts.at(-1)?.error?.message : undefined
  return {
    id: modelId(record),
    parent: turnId(record),
    kind: 'model',
    name: model,
    status,
    started: startedAt,
    ended,
    attributes: {
      model,
      fallback: model !== (attempts[0]?.model ?? model),
      attempts: attempts.map((attempt, index) => toAttempt(attempt, index === attempts.length - 1 ? status : 'error')),
      input_tokens: usage?.input ?? null,
      output_tokens: usage?.output ?? null,
      cached_input_tokens: usage?.cachedInput ?? null,
      cache_write_tokens: usage?.cacheWrite,
      reasoning_tokens: usage?.reasoning ?? null,
      cost: cost ?? null,
      time_to_first_token: firstTextAt === undefined ? null : (firstTextAt - startedAt) / 1000,
      finish_reason: finish,
      output: output === '' ? undefined : output,
      reasoning: reasoning === '' ? undefined : reasoning,
      error,
    },
  }
}

function statusOf({ usage, attempts, endedAt }: ModelRecord, hasEnded: boolean): SpanStatus {
  if (usage) return 'success'
  if (!hasEnded) return 'running'
  return endedAt !== undefined && attempts?.at(-1)?.error ? 'error' : 'cancelled'
}

function toAttempt({ model, startedAt, endedAt, error, held, settled }: AttemptRecord, status: SpanStatus): JsonValue {
  return {
    model,
    status: error ? 'error' : status,
    started_at: toIso(startedAt),
    ended_at: endedAt === undefined ? null : toIso(endedAt),
    ...(error ? { error_type: error.type, error: error.message } : {}),
    ...(held ? { held: { ...held }, settled: settled ? { ...settled } : null } : {}),
  }
}

/** The texts of the last attempt of a model call. Texts of sub-agents are not logged. */
export function textsOf({ callId, from, to }: ModelRecord, events: readonly LoggedEvent[]): { output: string; reasoning: string } {
  const texts = { output: '', reasoning: '' }
  if (callId !== undefined) return texts
  for (let at = from; at < Math.min(to ?? events.length, events.length); at++) {
    const event = events[at]!
    if (event.type === 'retrying') texts.output = texts.reasoning = ''
    if (event.type === 'text') texts[event.label === 'reasoning' ? 'reasoning' : 'output'] += event.text
  }
  return texts
}

/** A step of the log: its start, and its end where the step has ended. */
export interface LoggedStep {
  /** Index of the start in the log. */
  at: number
  start: StepStart
  end?: Step
}

/** The steps of a log by id, in the order of their starts. */
export function stepsIn(events: readonly LoggedEvent[]): Map<string, LoggedStep> {
  const steps = new Map<string, LoggedStep>()
  for (const [at, event] of events.entries()) {
    if (event.type === 'step_start' && !steps.has(event.step.id)) steps.set(event.step.id, { at, start: event.step })
    if (event.type !== 'step_end') continue
    const step = steps.get(event.step.id) ?? { at, start: event.step }
    steps.set(event.step.id, { ...step, end: event.step })
  }
  return steps
}

interface StepOptions {
  parent: string
  /** The end of the run, if the run has ended: an unended step was cancelled. */
  endedAt: number | undefined
  /** True where the step waits for the approval of a call inside of it. */
  isWaiting: boolean
  /** True where the step was stopped with its run. */
  isCutOff: boolean
  /** False for logs without the effects of tools. */
  hasEffect: boolean
}

/** The span of a tool call, of a sub-agent's call, or of the making of a plan. */
export function toStepPart({ start, end }: LoggedStep, { parent, endedAt, isWaiting, isCutOff, hasEffect }: StepOptions): SpanPart {
  const { id, type, tool, input, startedAt, subAgent, effect, containment } = start
  const isPlan = type === 'planning'
  const artifacts = end?.artifacts?.map(({ id: artifact_id, name: file_name }) => ({ artifact_id, file_name }))
  return {
    id,
    parent,
    kind: isPlan ? 'plan' : type === 'sub_agent_call' ? 'sub_agent' : 'tool',
    name: isPlan ? planNames[tool === 'change' ? 'change' : 'plan'] : tool,
    status: isCutOff ? 'cancelled' : (end?.status ?? (endedAt !== undefined ? 'cancelled' : isWaiting ? 'waiting' : 'running')),
    started: startedAt,
    ended: end ? startedAt + end.durationMs : endedAt,
    attributes: {
      tool: isPlan ? undefined : tool,
      tool_input: input,
      output: end?.output,
      effect: isPlan ? undefined : hasEffect ? (effect ?? 'read') : null,
      log: end?.log,
      ...(containment && toContainment(containment)),
      sub_agent: subAgent,
      artifacts,
    },
  }
}

function toContainment({ trust, private: isPrivate, outbound, taintedBy, decision }: StepContainment): SpanPart['attributes'] {
  return { trust, private: isPrivate, outbound, ...(taintedBy && { tainted_by: taintedBy }), ...(decision && { containment: decision }) }
}

const planNames = { plan: 'Plan', change: 'Change of the plan' }
