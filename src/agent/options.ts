import type { Answer } from './answer.ts'
import type { Decision, Suspension } from './approval.ts'
import type { Containment } from './taint.ts'
import type { Caller, DataFilter, DataScope, ShowImage, Tool } from './tool.ts'
import type { Inbox, KeepArtifact, JsonSchema, Message, Steer } from './messages.ts'
import type { Emit, EndReason, Step } from './events.ts'
import type { Model, ModelMeter, ModelOptions, RunTrace } from './model.ts'

/** Everything that an agent needs: its model and tools, its position, and the outside world as arguments. */
export interface LoopOptions extends CallOptions {
  model: Model
  /** How the agent comes to its answer; default: `react`. */
  workflow?: Workflow
  /** How the caller wants the model calls; default: as configured. */
  modelOptions?: ModelOptions
  system: string
  /**
   * The transcript so far; the agent appends to this array. Ends with a user message, or in the middle of a turn when a
   * run resumes.
   */
  messages: Message[]
  /** Total number of model calls; the last call is made without tools. */
  maxIterations: number
  /** Messages to the running agent; absent for an agent that takes none, such as one inside of a call. */
  inbox?: Inbox
  /** Takes the messages that wait, in order. */
  takeMessages?(): Promise<readonly (Steer & { text: string })[]>
  /** Model calls made before the run resumed. */
  iterations?: number
  /**
   * Selects the tools that the model is offered, in this order; default: all. Calls of other tools run all the same.
   */
  offered?(all: readonly Tool[], messages: readonly Message[]): readonly Tool[]
  /**
   * Token budget for the transcript: beyond it tool output is cut for the model, old output first. Default: no limit.
   */
  windowTokens?: number
  /** Hosts whose pictures stay in the texts of the agent. Absent: all pictures stay. */
  imageHosts?: readonly string[]
  /** The schema of the answer; absent: the answer is any text. */
  answerSchema?: AnswerSchema | undefined
  /** Id of the tool call in which this agent runs; absent for the run's own agent. */
  parentCallId?: string
  /** The reason why `signal` was aborted. */
  stopReason(): 'timeout' | 'cancelled'
}

/** The schema of a run's answer. */
export interface AnswerSchema {
  schema: JsonSchema
  /** Times that the model is asked to correct an answer. */
  maxRepairs: number
  /** What keeps a text from being an answer, as a clause for the model (`/price must be number`); undefined for an answer. */
  faultOf(text: string): Promise<string | undefined>
}

/** Works until the answer, and resolves to the reason of the end. */
export type Workflow = (loop: Loop) => Promise<EndReason>

/** The state of a running agent. */
export interface Loop {
  readonly options: LoopOptions
  /** Emits one event at a time. Of several emits in a row only the last needs to be awaited. */
  readonly emit: Emit
  readonly answer: Answer
  /** Model calls made, including those before a resume. */
  callsMade: number
  /** `maxIterations`, and one more when a message came behind the last call. */
  callLimit: number
}

/** The tools of an agent, and what their calls need from the outside world. */
export interface CallOptions {
  /** The current tools, which may change from turn to turn. */
  tools(): readonly Tool[]
  /** True for an agent with skills, which may narrow its tools. */
  hasSkills?: boolean
  /** True when a tool of this name exists but cannot be used now. */
  isDown?(name: string): boolean
  /**
   * All tools of the run, when more than offered: a filter also restricts tools that read the files behind a tool which
   * is not offered.
   */
  allTools?: readonly Tool[]
  /** The transcript; results are appended in the order of the calls. */
  messages: Message[]
  /** The caller's `stix*` headers. */
  headers: Readonly<Record<string, string>>
  filters: readonly DataFilter[]
  /** The decision on a call that waits for one; undefined while there is none. Absent: nothing can be decided. */
  decisionFor?(callId: string): Decision | undefined
  /** The state of a call that was suspended before the run resumed; absent: no call can be suspended. */
  suspensionOf?(callId: string): Suspension | undefined
  /** Holds calls back; absent: nothing holds them. */
  pace?: Pace
  /** The model of the agent, for servers that may ask it during a call. */
  model?: Model
  /** Absent: containment is not configured. */
  containment?: Containment
  /** Pays for what tools ask of models; absent: no budget is configured. */
  meter?: ModelMeter
  caller: Caller
  /** Key of the conversation, unique over all callers. */
  session: string
  /** The caller's id of the conversation. */
  sessionId: string
  contextFiles: readonly string[]
  /** The last successful step of a tool in the run, also of another agent of the run; default: none. */
  latestStep?(tool: string): Pick<Step, 'id' | 'output'> | undefined
  signal: AbortSignal
  keepArtifact: KeepArtifact
  /** Absent for a model without vision. */
  showImage?: ShowImage | undefined
  /** Transcript of the agent inside of a call from before another process took the run over; absent for none. */
  earlierMessages?(callId: string): readonly Message[]
  /** Name of the calling sub-agent. */
  subAgent?: string
  /** Absent: the run is not traced. */
  trace?: RunTrace
  /** Epoch milliseconds. */
  now(): number
  /** A UUIDv7. */
  newId(): string
}

/** Port: the order of the calls of a run and of its sub-agents. A replay keeps the order of its recording. */
export interface Pace {
  /** Resolves when an agent may begin to make a plan; `subAgent` is undefined for the run's own agent. */
  plan(subAgent: string | undefined): Promise<void>
  /** Resolves when the start of a call may be reported. */
  start(callId: string): Promise<void>
  /** Resolves when the end of a call may be reported. */
  end(callId: string): Promise<void>
}

/** What a tool sees of its data in a run without filters. */
export const wholeScope: DataScope = { filters: [], isWithheld: () => false, restriction: '' }

/**
 * The data visible to a tool. Filters on the tool itself apply; the files behind another filtered tool can be read only
 * through the filtered tool.
 */
export function scopeOf(tool: Tool, tools: readonly Tool[], filters: readonly DataFilter[]): DataScope {
  const hinted = tools.filter((candidate) => candidate.name !== tool.name && filters.some((filter) => filter.tool === candidate.name))
  // A filtered tool that is not offered may read any file, so every file is withheld.
  const isUnknown = filters.some((filter) => !tools.some((candidate) => candidate.name === filter.tool))
  return {
    filters: filters.filter((filter) => filter.tool === tool.name),
    isWithheld: (path) => isUnknown || hinted.some((candidate) => candidate.readsFile?.(path) ?? false),
    restriction: nameFilters(filters),
  }
}

/** The name of a run's filters, computed once: every description and call of a tool asks for it. */
const names = new WeakMap<readonly DataFilter[], string>()

/** A canonical text: equal for the same filters in another order. */
function nameFilters(filters: readonly DataFilter[]): string {
  let name = names.get(filters)
  if (name === undefined) {
    name = [...new Set(filters.map(({ tool, key, type, value }) => JSON.stringify([tool, key, type, value])))].sort().join()
    names.set(filters, name)
  }
  return name
}
