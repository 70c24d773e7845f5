import { Interrupted } from '../agent/approval.ts'
import { BudgetSpent } from '../agent/meter.ts'
import type { AgentEvent, LoopOutcome } from '../agent/events.ts'
import type { Message } from '../agent/messages.ts'
import { ModelError } from '../agent/model.ts'
import { shownBefore } from '../agent/containment.ts'
import { joinTaints, ownMarks, type Containment } from '../agent/taint.ts'
import { planExecute } from '../agent/plan.ts'
import { react, runAgent } from '../agent/loop.ts'
import type { LoopOptions } from '../agent/options.ts'
import type { InnerAgent, Tool, ToolContext } from '../agent/tool.ts'
import { offerTools } from '../agent/tool-offer.ts'
import { loadSkillName } from '../agent/allowed-tools.ts'
import { subAgentLimits, type SubAgent, chooseTools } from './sub-agent-store.ts'
import type { Owner } from '../access/owner.ts'
import type { AgentParts } from '../configuration/agent.ts'
import type { SubAgents } from './sub-agents.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import type { AgentSkills } from '../configuration/skills/skill.ts'

/** Runs `work` with a slot; `below` returns the sub-agents that this sub-agent may ask in turn. */
type WithSlot = <T>(signal: AbortSignal, work: (below: () => readonly Tool[]) => Promise<T>) => Promise<T>

/** Options that every loop of a run shares. */
const sharedOptions = [
  'headers',
  'isDown',
  'caller',
  'session',
  'sessionId',
  'contextFiles',
  'latestStep',
  'decisionFor',
  'suspensionOf',
  'filters',
  'keepArtifact',
  'showImage',
  'stopReason',
  'windowTokens',
  'trace',
  'containment',
  'meter',
  'hasSkills',
  'pace',
  'now',
  'newId',
] as const satisfies readonly (keyof LoopOptions)[]

type SharedOptions = Pick<LoopOptions, (typeof sharedOptions)[number]>

/** The run that gives tasks to sub-agents. */
export interface ParentRun {
  caller: Owner
  /** The options of the agent above: a sub-agent takes `sharedOptions` of them. */
  options: SharedOptions
  agent: Pick<AgentParts, 'config' | 'model' | 'tools' | 'skills'>
  /** Tools of the agent itself. */
  tools: readonly Tool[]
  subAgents: SubAgents
  /** Receives internal errors; the model is not told of them. */
  onFault(error: unknown): void
}

const maxOutputCharacters = 20_000

const schema = {
  type: 'object',
  properties: {
    task: {
      type: 'string',
      minLength: 1,
      maxLength: subAgentLimits.task,
      description: 'What it is to do, with all that it must know: it sees nothing of this conversation.',
    },
  },
  required: ['task'],
  additionalProperties: false,
}

/**
 * Makes a sub-agent a tool of the agent: each call runs a task in a loop of its own as part of the run, and returns the
 * answer.
 */
export function createDelegate(subAgent: SubAgent, parent: ParentRun, withSlot: WithSlot): Tool {
  const name = `sub_agent:${subAgent.name}`
  return {
    name,
    description: `Gives a task to the sub-agent "${subAgent.name}". ${subAgent.description}`.trim(),
    schema,
    // Inner events are stored with the run: a call that was cut off resumes, and inner writes never run twice.
    effect: 'read',
    filters: false,
    timeoutMs: parent.agent.config.max_execution_time * 1000,
    maxOutputCharacters,
    shownAs: { type: 'sub_agent_call', tool: name },
    // The taint of the sub-agent is added to the result of each call.
    marks: ownMarks,
    isAgent: true,
    check: checkTask,
    async execute({ task }, context) {
      if (!context.inner) throw new Error('A sub-agent can be asked in a chat only.')
      const { inner } = context
      return withSlot(context.signal, (below) =>
        parent.subAgents.workAs(parent.caller, subAgent, context.signal, async (terminated) => {
          const output = await doTask({ subAgent, parent, below, context, inner, terminated }, String(task))
          if (terminated.aborted) throw new Error(`The sub-agent ${subAgent.name} was terminated.`)
          context.signal.throwIfAborted()
          return output
        }),
      )
    },
  }
}

function checkTask(input: unknown): string | undefined {
  const { task, ...rest } = input as Record<string, unknown>
  const [unknownKey] = Object.keys(rest)
  if (unknownKey !== undefined) return `${unknownKey} is not a parameter`
  if (typeof task !== 'string' || task.trim() === '') return 'task must be a text'
  return task.length > subAgentLimits.task ? `task must have ${subAgentLimits.task} characters at most` : undefined
}

interface DelegatedTask {
  subAgent: SubAgent
  parent: ParentRun
  below: () => readonly Tool[]
  context: ToolContext
  inner: InnerAgent
  terminated: AbortSignal
}

/** Runs the task and returns the answer, by the same rule as for a run: the `answer` text behind all other events. */
async function doTask(work: DelegatedTask, task: string): Promise<string> {
  const { subAgent, parent, context, inner } = work
  let output = ''
  const files: string[] = []
  let outcome: LoopOutcome
  const options = optionsFor(work, task)
  try {
    outcome = await runAgent(options, (event) => {
      if (event.type === 'turn') files.push(...(event.message.artifacts ?? []).map(({ name }) => name))
      output = outputAfter(output, event)
      const runEvent = toRunEvent(event, subAgent, context)
      return runEvent && inner.emit(runEvent)
    })
  } catch (error) {
    // The caller of the sub-agent reads which budget it is.
    if (error instanceof BudgetSpent) throw error
    if (error instanceof ModelError) throw new Error(`No model could answer: ${error.message}`, { cause: error })
    parent.onFault(error)
    throw new Error('The sub-agent failed.', { cause: error })
  } finally {
    if (options.containment) context.addTaint?.(shownBefore(options, options.messages.length))
  }
  if (outcome.type === 'interrupt') throw new Interrupted(outcome.calls)
  if (output === '' && files.length > 0) return `Made ${files.join(', ')}.`
  if (output === '' && !context.signal.aborted && !work.terminated.aborted) {
    throw new Error(`The sub-agent ended without an answer (${outcome.reason}).`)
  }
  return output
}

function optionsFor({ subAgent, parent, below, context, inner, terminated }: DelegatedTask, task: string): LoopOptions {
  const { agent, tools } = parent
  const shared = Object.fromEntries(sharedOptions.map((name) => [name, parent.options[name]])) as unknown as SharedOptions
  const earlier = inner.earlierMessages(context.callId)
  const messages: Message[] = [{ role: 'user', text: task }, ...earlier]
  const chosen = chooseTools(subAgent.tools, tools, agent.config)
  return {
    workflow: subAgent.workflowType === 'plan_execute' ? planExecute : react,
    model: agent.model,
    system: systemOf(subAgent, agent.config, chosen.some(({ name }) => name === loadSkillName) ? agent.skills : undefined),
    messages,
    ...offerTools({
      tools: () => [...chosen, ...below()],
      findable: chosen,
      allTools: tools,
      filters: shared.filters,
      question: task,
      search: agent.tools.search,
      find: agent.tools.find,
    }),
    allTools: tools,
    maxIterations: agent.config.max_iterations,
    iterations: earlier.filter((message) => message.role === 'assistant').length,
    ...shared,
    ...(shared.containment && { containment: containmentBelow(shared.containment, context) }),
    earlierMessages: inner.earlierMessages,
    subAgent: subAgent.name,
    parentCallId: context.callId,
    signal: AbortSignal.any([context.signal, terminated]),
  }
}

/** A sub-agent has the taint of the agent above. The task is text of the agent above, so words of persons come from the run. */
function containmentBelow(containment: Containment, { shown, humanTexts = [] }: ToolContext): Containment {
  return { ...containment, inherited: joinTaints(containment.inherited, shown), humanTexts }
}

/** The answer so far: any other visible event voids the text before the event. */
function outputAfter(output: string, event: AgentEvent): string {
  switch (event.type) {
    case 'text':
      return event.label === 'answer' ? output + event.text : ''
    case 'retrying':
    case 'step_start':
    case 'step_end':
    case 'result':
    case 'user_message':
      return ''
    case 'turn':
    case 'instruction':
    case 'nested':
    case 'approved_start':
    case 'suspension':
    case 'progress':
      return output
  }
}

/** Maps an inner event to an event of the run: steps and resumable events, but no text and no end. */
function toRunEvent(event: AgentEvent, { name }: SubAgent, { callId, log }: ToolContext): AgentEvent | undefined {
  switch (event.type) {
    case 'step_start':
    case 'nested':
    case 'approved_start':
    case 'suspension':
    case 'progress':
    case 'step_end':
      return event
    case 'result':
      log(`${event.step.tool}: ${event.step.status}`)
      return { type: 'nested', callId, subAgent: name, event }
    case 'turn':
    case 'instruction':
      return { type: 'nested', callId, subAgent: name, event }
    case 'text':
    case 'retrying':
    case 'user_message':
      return undefined
  }
}

/** The system prompt of a sub-agent, below the instructions of the whole agent. A sub-agent with `load_skill` knows the skills. */
function systemOf(
  { name, description, objective }: SubAgent,
  { instructions }: Pick<AgentConfig, 'instructions'>,
  skills: AgentSkills | undefined,
): string {
  const self = [
    `You are the sub-agent "${name}".`,
    description && `What you are for: ${description}`,
    objective && `Your objective: ${objective}`,
    'You are given one task. Do it with your tools and answer with its result: nothing else that you say is read.',
  ].filter((line) => line !== '')
  return [instructions.trim(), skills?.prompt ?? '', self.join('\n')].filter((part) => part !== '').join('\n\n')
}
