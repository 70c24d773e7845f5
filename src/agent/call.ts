import {
  clientAnswerIn,
  rejectionText,
  type Decision,
  type PendingCall,
  changedInputText,
  toQuestionId,
  type ResumedCall,
  type Suspended,
  type Suspension,
} from './approval.ts'
import { narrowedText, narrowingOf } from './allowed-tools.ts'
import { equalCalls, humanTextsIn, refusalText, shownBefore, stricterHold, toHold, toReachCheck, toSink, type Sink } from './containment.ts'
import { type CallOptions, scopeOf, wholeScope } from './options.ts'
import { isDeeper, maxJsonDepth, isObject, parseJson } from '../json/shape.ts'
import type { JsonObject, ToolCall, JsonValue, ToolImage, AssistantMessage, Taint, TaintSource } from './messages.ts'
import { joinTaints, marksOf, taintOfCall } from './taint.ts'
import type { Tool, InnerAgent, SampleRequest, ToolContext } from './tool.ts'
import { runTool, toCallOutcome, type RunToolOptions, type ToolOutcome, toClientOutcome } from './run-tool.ts'
import { findTool } from './tool-names.ts'
import type { CallOutcome, Step, StepContainment, StepStart, StartedWrite, Emit, ToolProgress } from './events.ts'
import { outcomeUnknown } from './history.ts'
import { reachState } from '../states.ts'
import { ignoreEvents, type Model, type ModelReply, type RunTrace } from './model.ts'

/** A checked call: its faults are known before anything runs. */
export interface PreparedCall {
  call: ToolCall
  tool: Tool | undefined
  effect: Tool['effect']
  input: JsonObject
  /** The result for the model when the call cannot run. */
  fault: string | undefined
  decision: Decision | undefined
  /** Set on a call with an effect outside, after text of strangers. */
  sink?: Sink | undefined
  /** Set on a call that containment refuses. */
  refusedFor?: readonly TaintSource[]
}

/** Finds the tool of a call, and checks its arguments and what the caller has decided. */
export async function prepare(call: ToolCall, toolsByName: ReadonlyMap<string, Tool>, options: CallOptions): Promise<PreparedCall> {
  const tool = findTool(toolsByName, call.name)
  const decision =
    call.approval && (options.decisionFor?.(call.id) ?? (call.held && !tool?.approval ? decisionOnEqual(call, options) : undefined))
  const approved = decision?.decision === 'approve' ? decision.input : undefined
  const input = approved ?? parseArguments(call.arguments)
  const effect = tool?.effect ?? 'read'
  const prepared: PreparedCall = { call, tool, effect, input: typeof input === 'string' ? {} : input, fault: undefined, decision }
  if (options.containment && tool) prepared.sink = toSink(tool, prepared.input, shownBefore(options, placeBehind(call, options)), options)
  const hold = call.held || prepared.sink ? stricterHold(call.held, toHold(prepared.sink)) : undefined
  if (hold?.verdict === 'refuse') return { ...prepared, fault: refusalText(hold.sources), refusedFor: hold.sources }
  if (decision?.decision === 'reject') return { ...prepared, fault: rejectionText(decision.reason) }
  if (decision && decision.decision !== 'approve') return prepared
  if (!tool) return { ...prepared, fault: toUnknown(call.name, toolsByName, options) }
  if (tool.provider) return { ...prepared, fault: toAbsent(call.name) }
  const narrowing = options.hasSkills ? narrowingOf(options.messages.slice(0, placeBehind(call, options))) : undefined
  if (narrowing && !narrowing.allows(tool)) return { ...prepared, fault: narrowedText(call.name, narrowing) }
  // A tool that supported filters when the run began may have lost the support since, on a server for instance.
  if (!tool.filters && options.filters.some((filter) => filter.tool === tool.name)) {
    return { ...prepared, fault: `${call.name} can't be used here: its data is to be filtered, and it has no filters.` }
  }
  // The model asked when the tool was absent or needed no approval, and another process resumes the run.
  if ((tool.approval || hold) && !call.approval)
    return { ...prepared, fault: `${call.name} needs the approval of a person. Ask for the call again.` }
  if (typeof input === 'string') return { ...prepared, fault: `The arguments of ${call.name} are ${input}.` }
  const checking = tool.check(input)
  const fault = checking instanceof Promise ? await checking : checking
  return fault ? { ...prepared, fault: `The arguments of ${call.name} do not fit: ${fault}.` } : prepared
}

/** The start of a call, where the call is a `write` that runs now. The start of an approved call is stored apart. */
export function startOf({ call, tool, effect, input, fault, decision }: PreparedCall): StartedWrite | undefined {
  if (!tool || effect !== 'write' || fault !== undefined || decision) return undefined
  return { callId: call.id, tool: tool.name, input }
}

/** The index behind the message that requests a call. A provider may have shown the model something in the middle of the message. */
function placeBehind({ id }: ToolCall, { messages }: CallOptions): number {
  return 1 + messages.findLastIndex((message) => message.role === 'assistant' && message.toolCalls.some((call) => call.id === id))
}

/**
 * The decision on an equal call held by containment alone: a person is asked once in a run. Arguments changed by a person
 * are for one call.
 */
function decisionOnEqual(call: ToolCall, { decisionFor, messages }: CallOptions): Decision | undefined {
  const decisions = equalCalls(call, messages).map(({ id }) => decisionFor?.(id))
  return decisions.find((decision) => decision && !(decision.decision === 'approve' && decision.input))
}

function toUnknown(name: string, toolsByName: ReadonlyMap<string, Tool>, { isDown }: CallOptions): string {
  if (isDown?.(name)) return `${name} can't be used at the moment: what it needs is not there. Go on without it, or say so.`
  return `There is no tool ${name}. The tools are: ${toList([...toolsByName.keys()])}.`
}

/** A model without the provider's tool may still ask for a call, by the name that it read in earlier messages. */
function toAbsent(name: string): string {
  return `${name} can't be called: only the provider of a model runs it, and the provider of this model did not. Go on without it, or say so.`
}

const maxListed = 50

function toList(names: readonly string[]): string {
  return names.length <= maxListed ? names.join(', ') : `${names.slice(0, maxListed).join(', ')} and ${names.length - maxListed} others`
}

/** The arguments of a call; empty for malformed ones. */
export function argumentsOf(text: string): JsonObject {
  const input = parseArguments(text)
  return typeof input === 'string' ? {} : input
}

/** Parses the arguments of a call; returns the fault for malformed ones. */
function parseArguments(text: string): JsonObject | 'not a JSON object' | 'nested too deeply' {
  const value = parseJson(text.trim() === '' ? '{}' : text)
  if (!isObject(value)) return 'not a JSON object'
  return isDeeper(value, maxJsonDepth) ? 'nested too deeply' : (value as JsonObject)
}

export interface EndedCall {
  call: PreparedCall
  step: Step
  text: string
  images: readonly ToolImage[]
  /** The taint of the result; absent: containment is not configured. */
  taint?: Taint | undefined
  pendingCalls?: readonly PendingCall[]
  suspended?: Suspended
  /** Absent: no tool was executed. */
  executed?: CallOutcome
  refusedFor?: readonly TaintSource[]
}

/** The start of a call, as a caller sees it. */
export function stepOf(prepared: PreparedCall, { now, subAgent, containment }: CallOptions): StepStart {
  const { call, tool, effect, input, decision } = prepared
  const shownAs = tool?.shownAs ?? { type: 'tool_call', tool: tool?.name ?? call.name }
  return {
    id: call.id,
    ...shownAs,
    input,
    startedAt: (decision && clientAnswerIn(decision)?.requestedAt) ?? now(),
    ...(subAgent === undefined ? {} : { subAgent }),
    ...(effect === 'write' ? { effect } : {}),
    ...(containment && { containment: toStepContainment(prepared) }),
  }
}

function toStepContainment({ call, tool, sink, fault, decision }: PreparedCall): StepContainment {
  const { trust, private: isPrivate, outbound } = marksOf(tool ?? {})
  const held = call.held ?? toHold(sink)
  const sources = sink?.sources ?? call.held?.sources
  const taintedBy = sources?.flatMap(({ callId }) => (callId === undefined ? [] : [callId]))
  const decided = decision?.decision === 'reject' ? 'rejected' : decision && fault === undefined ? 'approved' : undefined
  return {
    trust,
    private: isPrivate,
    outbound,
    ...(taintedBy && { taintedBy }),
    ...(held && { decision: held.verdict, ...(decided && { decided }) }),
  }
}

/** What a call runs in. `signal` is aborted with the other calls of the turn. */
interface CallSurroundings {
  options: CallOptions
  signal: AbortSignal
  inner: InnerAgent
  suspension: Suspension | undefined
}

/** Runs a call; a call that cannot run, and one whose client has answered, ends at once. Faults of the tool are results. */
export async function execute(prepared: PreparedCall, step: StepStart, surroundings: CallSurroundings): Promise<EndedCall> {
  const { options, signal, inner } = surroundings
  const { tool, input, fault, decision, refusedFor } = prepared
  const answer = decision && clientAnswerIn(decision)
  const taint = options.containment && toTaint(prepared)
  if (answer) return { ...ended(prepared, step, toClientOutcome(answer)), taint }
  if (!tool || fault) return { ...ended(prepared, step, refused(fault ?? '')), ...(refusedFor && { refusedFor }) }
  const { keepArtifact, showImage, now } = options
  let inside: Taint | undefined
  const context = toContext(prepared, tool, surroundings, (taintInside) => void (inside = joinTaints(inside, taintInside)))
  const { id, type, tool: shownTool } = step
  const onProgress = (report: ToolProgress) => void inner.emit({ type: 'progress', step: { id, type, tool: shownTool }, report })
  const outcome = await runTool(tool, input, { context, keepArtifact, showImage, signal, onProgress, now })
  const result = ended(prepared, step, outcome)
  result.executed = toCallOutcome(outcome)
  if (taint) result.taint = joinTaints(taint, inside)
  return result
}

/** What a tool is given for a call. */
function toContext(
  prepared: PreparedCall,
  tool: Tool,
  { options, inner, suspension }: CallSurroundings,
  addTaint: (taint: Taint) => void,
): RunToolOptions['context'] {
  const { headers, caller, session, sessionId, contextFiles, filters, model, meter, trace, now } = options
  const { id: callId } = prepared.call
  const context: RunToolOptions['context'] = {
    ...(filters.length === 0 ? wholeScope : scopeOf(tool, options.allTools ?? options.tools(), filters)),
    callId,
    inner,
    caller,
    headers,
    session,
    sessionId,
    contextFiles,
    latestOutput: (name) => {
      const latest = options.latestStep?.(name)
      if (latest && options.containment && !hasResult(options, latest.id))
        addTaint({ sources: [{ tool: name, callId: latest.id }], isPrivate: true })
      return latest?.output
    },
  }
  const traceparent = trace?.traceparentOf(callId)
  if (traceparent !== undefined) context.traceparent = traceparent
  // What servers may ask for during the call.
  if (model) context.sample = (request, by) => sample(request, by, { model, callId, tool: tool.name, trace, emit: inner.emit, now })
  if (meter) context.meter = meter
  if (options.suspensionOf) context.maySuspend = true
  if (suspension) context.resumed = toResumed(suspension, options)
  if (options.containment) Object.assign(context, toContained(prepared, options, addTaint))
  return context
}

/** The taint of the output of a call. Errors count too: servers write the texts of errors. */
function toTaint({ call, tool, input }: PreparedCall): Taint {
  const url = tool?.destinationOf?.(input).url
  const host = url !== undefined && URL.canParse(url) ? new URL(url).host : undefined
  return taintOfCall(tool?.name ?? call.name, marksOf(tool ?? {}), call.id, host)
}

/** Fields of the context of a call under containment. */
function toContained({ call, tool, sink }: PreparedCall, options: CallOptions, addTaint: (taint: Taint) => void): Partial<ToolContext> {
  const { policy } = options.containment!
  return {
    shown: shownBefore(options, placeBehind(call, options)),
    humanTexts: options.containment!.humanTexts ?? humanTextsIn(options.messages),
    addTaint,
    reportHost: (host) => addTaint({ sources: [{ tool: tool?.name ?? call.name, callId: call.id, host }], isPrivate: false }),
    ...(sink?.staysInside && { assertReachable: toReachCheck(policy.outboundHosts, sink.sources) }),
  }
}

function toResumed({ callId, state }: Suspension, { decisionFor }: CallOptions): ResumedCall {
  return { state, answerTo: (question) => decisionFor?.(toQuestionId(callId, question)) }
}

/** True when the model was shown the result of a call: the taint of the result is in the transcript. Other agents have other transcripts. */
function hasResult({ messages }: CallOptions, callId: string): boolean {
  return messages.some((message) => message.role === 'tool' && message.callId === callId)
}

function ended(call: PreparedCall, start: StepStart, outcome: ToolOutcome): EndedCall {
  const { isError, output, text, images, log, durationMs, artifacts, pendingCalls, suspended } = outcome
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
  return { call, step, text: note + text, images, ...(pendingCalls ? { pendingCalls } : {}), ...(suspended ? { suspended } : {}) }
}

function refused(fault: string): ToolOutcome {
  const output: JsonValue = { error: fault }
  return { isError: true, output, text: fault, log: fault, durationMs: 0, artifacts: [], returned: [], images: [] }
}

/** The end of a write that another process may have executed. */
export function unknownEnd(prepared: PreparedCall, step: StepStart): EndedCall {
  reachState('write-outcome-unknown')
  return ended(prepared, step, refused(outcomeUnknown))
}

/** Asks the model of the run for a server. The usage counts as usage of the run, and the trace of the run shows the model call inside of the tool call. */
async function sample(
  request: SampleRequest,
  signal: AbortSignal,
  { model, callId, tool, trace, emit, now }: SamplingOptions,
): Promise<ModelReply> {
  const { system, messages, maxOutputTokens } = request
  const text = messages.map((message) => message.text).join('\n\n')
  await emit({ type: 'nested', callId, subAgent: tool, event: { type: 'instruction', message: { role: 'user', text } } })
  const startedAt = now()
  const modelCall = trace?.modelCall(callId)
  const options = { maxOutputTokens }
  const reply = await model.reply({ system, messages, tools: [], options, ...(modelCall && { trace: modelCall }) }, ignoreEvents, signal)
  const { usage, finish } = reply
  const message: AssistantMessage = { role: 'assistant', text: reply.text, toolCalls: [] }
  await emit({ type: 'nested', callId, subAgent: tool, event: { type: 'turn', message, usage, finish, startedAt, endedAt: now() } })
  return reply
}

interface SamplingOptions {
  model: Model
  callId: string
  /** The name of the tool. */
  tool: string
  trace: RunTrace | undefined
  emit: Emit
  now(): number
}
