import { changedInputText, Interrupted, rejectionText, type Decision, type PendingCall } from './approval.ts'
import type { KeepArtifact } from './artifact.ts'
import { scopeOf } from './data-scope.ts'
import type { AgentEvent, Step, StepStart } from './events.ts'
import { outcomeUnknown } from './history.ts'
import { InnerEvents } from './inner-events.ts'
import { isDeeper, maxJsonDepth } from '../json/shape.ts'
import type { JsonObject, JsonValue, Message, ToolCall, ToolImage } from './messages.ts'
import {
  runTool,
  type Caller,
  type DataFilter,
  type DataScope,
  type InnerAgent,
  type ShowImage,
  type Tool,
  type ToolOutcome,
} from './tool.ts'
import { findTool, nameTools } from './tool-names.ts'
import type { RunTrace } from './trace.ts'

export interface CallOptions {
  /** The current tools, which may change from turn to turn. */
  tools(): readonly Tool[]
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
  /** The decision on a call that needs approval; undefined while there is none. Absent: nothing can be approved. */
  decisionFor?(callId: string): Decision | undefined
  caller: Caller
  /** Key of the conversation, unique over all callers. */
  session: string
  /** The caller's id of the conversation. */
  sessionId: string
  contextFiles: readonly string[]
  /** The last output of a tool in the run; default: none. */
  latestOutput?(tool: string): JsonValue | undefined
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

/** Reads of one turn that run at the same time; further reads wait. */
const maxParallelReads = 8

/** A checked call: its faults are known before anything runs. */
interface PreparedCall {
  call: ToolCall
  tool: Tool | undefined
  input: JsonObject
  /** The result for the model when the call cannot run. */
  fault: string | undefined
  decision: Decision | undefined
}

interface EndedCall {
  call: PreparedCall
  step: Step
  text: string
  images: readonly ToolImage[]
  pendingCalls?: readonly PendingCall[]
}

/**
 * Runs the calls of a turn: reads in parallel, writes sequentially in the order requested. Yields starts and ends at once,
 * with each `result` before the visible end, so that the result can be stored first. Events of agents inside of the calls
 * are yielded in between. Results join the transcript in the order requested. Calls waiting for approval stay open, and
 * are thrown as `Interrupted` after the end of all remaining calls.
 */
export async function* runCalls(
  calls: readonly ToolCall[],
  options: CallOptions,
  { resumed = false } = {},
): AsyncGenerator<AgentEvent, void> {
  const toolsByName = nameTools(options.tools())
  const all = calls.map((call) => prepare(call, toolsByName, options))
  const open: PendingCall[] = all.filter(isUndecided).map(toPending)
  const prepared = all.filter((call) => !isUndecided(call))
  const reads = prepared.filter(({ tool }) => tool?.effect !== 'write')
  const writes = prepared.filter(({ tool }) => tool?.effect === 'write')
  const maybeDone = resumed ? toMaybeDone(writes) : new Set()
  const results = new Map<string, Message>()
  const running = new Map<string, Promise<EndedCall>>()
  const innerEvents = new InnerEvents()
  const leaving = new AbortController()
  const signal = AbortSignal.any([options.signal, leaving.signal])

  function* start(prepared: PreparedCall): Generator<AgentEvent, void> {
    const { id } = prepared.call
    const step = stepOf(prepared, options)
    const isUnknown = maybeDone.has(prepared)
    if (isApprovedWrite(prepared) && !isUnknown && !signal.aborted) yield { type: 'approved_start', callId: id }
    yield { type: 'step_start', step }
    const innerAgent = { earlierMessages: (callId: string) => options.earlierMessages?.(callId) ?? [], publish: innerEvents.publish }
    running.set(id, isUnknown ? Promise.resolve(unknownEnd(prepared, step)) : execute(prepared, step, { ...options, signal }, innerAgent))
  }

  try {
    if (writes[0]) yield* start(writes.shift()!)
    while (reads[0] && running.size < maxParallelReads) yield* start(reads.shift()!)
    while (running.size > 0) {
      const ended = await Promise.race([...running.values(), innerEvents.arrived])
      if (!ended) {
        yield* innerEvents.take()
        continue
      }
      const { call: endedCall, step, text, images, pendingCalls } = ended
      const { id: callId, name } = endedCall.call
      running.delete(callId)
      if (pendingCalls) {
        open.push(...pendingCalls)
        const next = reads.shift()
        if (next) yield* start(next)
        continue
      }
      const effect = endedCall.tool?.effect ?? 'read'
      const message: Message = {
        role: 'tool',
        callId,
        name,
        text,
        isError: step.status === 'error',
        ...(images.length > 0 && { images: [...images] }),
      }
      results.set(callId, message)
      yield { type: 'result', message, effect, step }
      yield { type: 'step_end', step }
      const next = effect === 'write' ? writes.shift() : reads.shift()
      if (next) yield* start(next)
    }
  } finally {
    // A consumer that leaves in the middle must leave no tools running and no inner agents waiting.
    leaving.abort()
    innerEvents.close()
  }
  options.messages.push(...calls.flatMap(({ id }) => results.get(id) ?? []))
  options.signal.throwIfAborted()
  if (open.length > 0) throw new Interrupted(open)
}

function isUndecided({ call, fault, decision }: PreparedCall): boolean {
  return call.approval !== undefined && fault === undefined && decision === undefined
}

function toPending({ call, tool, input }: PreparedCall): PendingCall {
  return { callId: call.id, tool: tool?.name ?? call.name, input, by: call.approval ?? 'caller' }
}

function isApprovedWrite({ tool, fault, decision }: PreparedCall): boolean {
  return decision?.decision === 'approve' && fault === undefined && tool?.effect === 'write'
}

/**
 * Writes that the dead process may already have executed. Writes run one at a time, so only the first pending write can
 * have started. Approved writes record their own start (`isStarted`).
 */
function toMaybeDone(writes: readonly PreparedCall[]): Set<PreparedCall> {
  const first = writes.find(({ call }) => call.approval === undefined)
  return new Set(writes.filter((write) => write === first || (write.decision?.decision === 'approve' && write.decision.isStarted)))
}

function prepare(call: ToolCall, toolsByName: ReadonlyMap<string, Tool>, options: CallOptions): PreparedCall {
  const decision = call.approval && options.decisionFor?.(call.id)
  const approved = decision?.decision === 'approve' ? decision.input : undefined
  const tool = findTool(toolsByName, call.name)
  const input = approved ?? parseArguments(call.arguments)
  const prepared: PreparedCall = { call, tool, input: typeof input === 'string' ? {} : input, fault: undefined, decision }
  if (decision?.decision === 'reject') return { ...prepared, fault: rejectionText(decision.reason) }
  if (!tool) return { ...prepared, fault: toUnknown(call.name, toolsByName, options) }
  // A tool that supported filters when the run began may have lost the support since, on a server for instance.
  if (!tool.filters && options.filters.some((filter) => filter.tool === tool.name)) {
    return { ...prepared, fault: `${call.name} can't be used here: its data is to be filtered, and it has no filters.` }
  }
  // The model asked when the tool was absent or needed no approval, and another process resumes the run.
  if (tool.approval && !call.approval) return { ...prepared, fault: `${call.name} needs the approval of a person. Ask for the call again.` }
  if (typeof input === 'string') return { ...prepared, fault: `The arguments of ${call.name} are ${input}.` }
  const fault = tool.check(input)
  return fault ? { ...prepared, fault: `The arguments of ${call.name} do not fit: ${fault}.` } : prepared
}

function toUnknown(name: string, toolsByName: ReadonlyMap<string, Tool>, { isDown }: CallOptions): string {
  if (isDown?.(name)) return `${name} can't be used at the moment: what it needs is not there. Go on without it, or say so.`
  return `There is no tool ${name}. The tools are: ${toList([...toolsByName.keys()])}.`
}

const maxListed = 50

function toList(names: readonly string[]): string {
  return names.length <= maxListed ? names.join(', ') : `${names.slice(0, maxListed).join(', ')} and ${names.length - maxListed} others`
}

/** Parses the arguments of a call; returns the fault for malformed ones. */
function parseArguments(text: string): JsonObject | 'not a JSON object' | 'nested too deeply' {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not a JSON object'
    return isDeeper(value, maxJsonDepth) ? 'nested too deeply' : (value as JsonObject)
  } catch {
    return 'not a JSON object'
  }
}

function stepOf({ call, tool, input }: PreparedCall, { now, subAgent }: CallOptions): StepStart {
  const shownAs = tool?.shownAs ?? { type: 'tool_call', tool: tool?.name ?? call.name }
  return {
    id: call.id,
    ...shownAs,
    input,
    startedAt: now(),
    ...(subAgent === undefined ? {} : { subAgent }),
    ...(tool?.effect === 'write' ? { effect: tool.effect } : {}),
  }
}

async function execute(prepared: PreparedCall, step: StepStart, options: CallOptions, inner: InnerAgent): Promise<EndedCall> {
  const { call, tool, input, fault } = prepared
  if (!tool || fault) return ended(prepared, step, refused(fault ?? ''))
  const { headers, caller, session, sessionId, contextFiles, latestOutput = noOutput, keepArtifact, showImage, signal, now } = options
  const traceparent = options.trace?.traceparentOf(call.id)
  const callContext = { callId: call.id, inner, ...(traceparent !== undefined && { traceparent }) }
  const context = { ...callContext, caller, headers, session, sessionId, contextFiles, latestOutput, ...scopeIn(options, tool) }
  return ended(prepared, step, await runTool(tool, input, { context, keepArtifact, showImage, signal, now }))
}

/** The data visible to a tool in a run. */
export function scopeIn({ tools, allTools, filters }: CallOptions, tool: Tool): DataScope {
  return scopeOf(tool, allTools ?? tools(), filters)
}

const noOutput = () => undefined

function ended(call: PreparedCall, start: StepStart, outcome: ToolOutcome): EndedCall {
  const { isError, output, text, images, log, durationMs, artifacts, pendingCalls } = outcome
  const step = {
    ...start,
    log,
    output,
    status: isError ? ('error' as const) : ('success' as const),
    durationMs,
    ...(artifacts.length > 0 && { artifacts }),
  }
  const { decision } = call
  // The transcript keeps the model's original call.
  const note = decision?.decision === 'approve' && decision.input ? changedInputText(decision.input) : ''
  return { call, step, text: note + text, images, ...(pendingCalls ? { pendingCalls } : {}) }
}

function refused(fault: string): ToolOutcome {
  const output: JsonValue = { error: fault }
  return { isError: true, output, text: fault, log: fault, durationMs: 0, artifacts: [], returned: [], images: [] }
}

function unknownEnd(prepared: PreparedCall, step: StepStart): EndedCall {
  return ended(prepared, step, refused(outcomeUnknown))
}
