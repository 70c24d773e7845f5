import { planFrom } from '../../agent/plan-position.ts'
import { turnId } from './model-parts.ts'
import type { InstructionRecord, ModelRecord, TraceRecord } from './records.ts'
import { runSpanId, type Part } from './span.ts'
import type { LoggedStep } from './step-parts.ts'

/** The turns of all agents of a run, the steps of plans, and the turns in which plans were made. */
export interface TurnParts {
  turns: { part: Part; record: ModelRecord }[]
  /** Steps of plans. */
  groups: Part[]
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
  group: Part | undefined
}

export function toTurnParts(records: readonly TraceRecord[], steps: ReadonlyMap<string, LoggedStep>): TurnParts {
  const models = records.filter((record): record is ModelRecord => record.type === 'model')
  const plans = claimPlans(models, steps)
  const agents = new Map<string, AgentState>()
  const parts = { turns: [] as TurnParts['turns'], groups: [] as Part[], parentOfPlan: new Map<string, string>() }

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
    const part: Part = { id: turnId(record), parent, kind: 'turn', name, status: 'running', started, ended, attributes: {} }
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

function toGroup(agent: AgentState, n: number, started: number): Part {
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
