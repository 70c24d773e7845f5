import { changed, Interrupted, rejected, type Decision, type PendingCall } from './approval.ts'
import type { KeepArtifact } from './artifact.ts'
import { scopeOf } from './data-scope.ts'
import type { AgentEvent, Step, StepStart } from './events.ts'
import { outcomeUnknown } from './history.ts'
import { InnerEvents } from './inner-events.ts'
import { isDeeper, maxJsonDepth } from './json-depth.ts'
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
  /** As they are now: they may change from turn to turn. */
  tools(): readonly Tool[]
  /** Whether a tool of this name is there, but can't be used now. */
  isDown?(name: string): boolean
  /** All tools of the run, where that is more: a filter binds also those that read what is behind a tool which is not offered. */
  allTools?: readonly Tool[]
  /** The transcript; each result is appended in the order asked. */
  messages: Message[]
  /** The caller's `stix*` headers. */
  headers: Readonly<Record<string, string>>
  filters: readonly DataFilter[]
  /** What was decided of a call that needs approval; undefined where nothing was. Absent: nothing can be approved. */
  decided?(callId: string): Decision | undefined
  caller: Caller
  /** Names the conversation, among those of all callers. */
  session: string
  /** Names the conversation, as its caller knows it. */
  sessionId: string
  contextFiles: readonly string[]
  /** What a tool has given last; default: nothing. */
  latestOutput?(tool: string): JsonValue | undefined
  signal: AbortSignal
  keepArtifact: KeepArtifact
  /** Absent where the model can't see. */
  showImage?: ShowImage | undefined
  /** What an agent inside of this call had said before the run was taken over; absent for nothing. */
  earlier?(callId: string): readonly Message[]
  /** The sub-agent whose calls these are. */
  subAgent?: string
  /** Absent: nobody traces the run. */
  trace?: RunTrace
  /** Epoch milliseconds. */
  now(): number
  /** A UUIDv7. */
  newId(): string
}

/** Reads of one turn that run at the same time; more wait. */
const maxTogether = 8

/** A call, made ready: what is wrong with it is known before anything runs. */
interface Prepared {
  call: ToolCall
  tool: Tool | undefined
  input: JsonObject
  /** Told to the model in place of running it. */
  fault: string | undefined
  decision: Decision | undefined
}

interface Ended {
  prepared: Prepared
  step: Step
  text: string
  images: readonly ToolImage[]
  waitsFor?: readonly PendingCall[]
}

/**
 * Runs the calls of one turn: reads together, writes one after another in the order asked. Starts and ends are told as they happen;
 * a `result` before its visible end, so that it can be stored first. What agents inside of the calls do is told between them. The
 * transcript keeps the order asked. Calls that need approval, and have none, are left open when all others have ended: `Interrupted`.
 */
export async function* runCalls(
  calls: readonly ToolCall[],
  options: CallOptions,
  { resumed = false } = {},
): AsyncGenerator<AgentEvent, void> {
  const named = nameTools(options.tools())
  const all = calls.map((call) => prepare(call, named, options))
  const open: PendingCall[] = all.filter(isUndecided).map(toPending)
  const prepared = all.filter((one) => !isUndecided(one))
  const reads = prepared.filter((one) => one.tool?.effect !== 'write')
  const writes = prepared.filter((one) => one.tool?.effect === 'write')
  const maybeDone = resumed ? toMaybeDone(writes) : new Set()
  const results = new Map<string, Message>()
  const running = new Map<string, Promise<Ended>>()
  const inner = new InnerEvents()
  const leaving = new AbortController()
  const signal = AbortSignal.any([options.signal, leaving.signal])

  function* start(one: Prepared): Generator<AgentEvent, void> {
    const { id } = one.call
    const step = stepOf(one, options)
    const isUnknown = maybeDone.has(one)
    if (isApprovedWrite(one) && !isUnknown && !signal.aborted) yield { type: 'approved_start', callId: id }
    yield { type: 'step_start', step }
    const told = { earlier: (callId: string) => options.earlier?.(callId) ?? [], tell: inner.tell }
    running.set(id, isUnknown ? Promise.resolve(unknownEnd(one, step)) : execute(one, step, { ...options, signal }, told))
  }

  try {
    if (writes[0]) yield* start(writes.shift()!)
    while (reads[0] && running.size < maxTogether) yield* start(reads.shift()!)
    while (running.size > 0) {
      const ended = await Promise.race([...running.values(), inner.arrived])
      if (!ended) {
        yield* inner.take()
        continue
      }
      const { prepared: one, step, text, images, waitsFor } = ended
      running.delete(one.call.id)
      if (waitsFor) {
        open.push(...waitsFor)
        const next = reads.shift()
        if (next) yield* start(next)
        continue
      }
      const effect = one.tool?.effect ?? 'read'
      const { id: callId, name } = one.call
      const shown = images.length > 0 ? { images: [...images] } : {}
      const message: Message = { role: 'tool', callId, name, text, isError: step.status === 'error', ...shown }
      results.set(one.call.id, message)
      yield { type: 'result', message, effect, step }
      yield { type: 'step_end', step }
      const next = effect === 'write' ? writes.shift() : reads.shift()
      if (next) yield* start(next)
    }
  } finally {
    // Whoever leaves in the middle must not leave tools running, nor agents inside of them waiting.
    leaving.abort()
    inner.close()
  }
  options.messages.push(...calls.flatMap(({ id }) => results.get(id) ?? []))
  options.signal.throwIfAborted()
  if (open.length > 0) throw new Interrupted(open)
}

/** The calls that have no result yet, in the order asked, of a transcript that ends in the middle of a turn. */
export function callsWithoutResult(messages: readonly Message[]): ToolCall[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant')
  const message = messages[last]
  if (message?.role !== 'assistant') return []
  const behind = messages.slice(last + 1)
  if (behind.some((one) => one.role === 'user')) return []
  const done = new Set(behind.map((one) => (one.role === 'tool' ? one.callId : '')))
  return message.toolCalls.filter((call) => !done.has(call.id))
}

function isUndecided({ call, fault, decision }: Prepared): boolean {
  return call.approval !== undefined && fault === undefined && decision === undefined
}

function toPending({ call, tool, input }: Prepared): PendingCall {
  return { callId: call.id, tool: tool?.name ?? call.name, input, by: call.approval ?? 'caller' }
}

function isApprovedWrite({ tool, fault, decision }: Prepared): boolean {
  return decision?.decision === 'approve' && fault === undefined && tool?.effect === 'write'
}

/**
 * Of writes without a result, those that the process that died may have made: they run one after another, so it is the first, and
 * those behind it were not started. Of those that were approved it is kept when they start.
 */
function toMaybeDone(writes: readonly Prepared[]): Set<Prepared> {
  const first = writes.find(({ call }) => call.approval === undefined)
  return new Set(writes.filter((one) => one === first || (one.decision?.decision === 'approve' && one.decision.isStarted)))
}

function prepare(call: ToolCall, named: ReadonlyMap<string, Tool>, options: CallOptions): Prepared {
  const decision = call.approval && options.decided?.(call.id)
  const approved = decision?.decision === 'approve' ? decision.input : undefined
  const tool = findTool(named, call.name)
  const input = approved ?? parseArguments(call.arguments)
  const one: Prepared = { call, tool, input: typeof input === 'string' ? {} : input, fault: undefined, decision }
  if (decision?.decision === 'reject') return { ...one, fault: rejected(decision.reason) }
  if (!tool) return { ...one, fault: toUnknown(call.name, named, options) }
  // What was checked when the run began may have changed since, on a server for instance.
  if (!tool.filters && options.filters.some((filter) => filter.tool === tool.name)) {
    return { ...one, fault: `${call.name} can't be used here: its data is to be filtered, and it has no filters.` }
  }
  // It was asked for when the tool was not there, or not in need of approval, and another process goes on with it.
  if (tool.approval && !call.approval) return { ...one, fault: `${call.name} needs the approval of a person. Ask for the call again.` }
  if (typeof input === 'string') return { ...one, fault: `The arguments of ${call.name} are ${input}.` }
  const fault = tool.check(input)
  return fault ? { ...one, fault: `The arguments of ${call.name} do not fit: ${fault}.` } : one
}

function toUnknown(name: string, named: ReadonlyMap<string, Tool>, { isDown }: CallOptions): string {
  if (isDown?.(name)) return `${name} can't be used at the moment: what it needs is not there. Go on without it, or say so.`
  return `There is no tool ${name}. The tools are: ${toList([...named.keys()])}.`
}

const maxListed = 50

function toList(names: readonly string[]): string {
  return names.length <= maxListed ? names.join(', ') : `${names.slice(0, maxListed).join(', ')} and ${names.length - maxListed} others`
}

/** What a model wrote as arguments, or what is wrong with them. */
function parseArguments(text: string): JsonObject | 'not a JSON object' | 'nested too deeply' {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not a JSON object'
    return isDeeper(value, maxJsonDepth) ? 'nested too deeply' : (value as JsonObject)
  } catch {
    return 'not a JSON object'
  }
}

function stepOf({ call, tool, input }: Prepared, { now, subAgent }: CallOptions): StepStart {
  const shownAs = tool?.shownAs ?? { type: 'tool_call', tool: tool?.name ?? call.name }
  return { id: call.id, ...shownAs, input, startedAt: now(), ...(subAgent === undefined ? {} : { subAgent }) }
}

async function execute(one: Prepared, step: StepStart, options: CallOptions, inner: InnerAgent): Promise<Ended> {
  if (!one.tool || one.fault) return ended(one, step, refused(one.fault ?? ''))
  const { headers, caller, session, sessionId, contextFiles, latestOutput = nothingYet, keepArtifact, showImage, signal, now } = options
  const traceparent = options.trace?.traceparentOf(one.call.id)
  const own = { callId: one.call.id, inner, ...(traceparent !== undefined && { traceparent }) }
  const context = { ...own, caller, headers, session, sessionId, contextFiles, latestOutput, ...scopeIn(options, one.tool) }
  return ended(one, step, await runTool(one.tool, one.input, { context, keepArtifact, showImage, signal, now }))
}

/** What a tool may see in a run. */
export function scopeIn({ tools, allTools, filters }: CallOptions, tool: Tool): DataScope {
  return scopeOf(tool, allTools ?? tools(), filters)
}

const nothingYet = () => undefined

function ended(prepared: Prepared, start: StepStart, outcome: ToolOutcome): Ended {
  const { isError, output, text, images, log, durationMs, artifacts, waitsFor } = outcome
  const made = artifacts.length > 0 ? { artifacts } : {}
  const step = { ...start, log, output, status: isError ? ('error' as const) : ('success' as const), durationMs, ...made }
  const { decision } = prepared
  // The call stands in the transcript as the model asked for it.
  const note = decision?.decision === 'approve' && decision.input ? changed(decision.input) : ''
  return { prepared, step, text: note + text, images, ...(waitsFor ? { waitsFor } : {}) }
}

function refused(fault: string): ToolOutcome {
  const output: JsonValue = { error: fault }
  return { isError: true, output, text: fault, log: fault, durationMs: 0, artifacts: [], returned: [], images: [] }
}

function unknownEnd(prepared: Prepared, step: StepStart): Ended {
  return ended(prepared, step, refused(outcomeUnknown))
}
