import { narrowingOf } from './allowed-tools.ts'
import { argumentsOf } from './call.ts'
import { shownBefore, toHold, toSink } from './containment.ts'
import type { EndReason, TextLabel } from './events.ts'
import { fitTranscript } from './history.ts'
import type { Rewrite } from './images/rewrite.ts'
import { isQuestion } from './inbox.ts'
import type { AssistantMessage, Message, Taint, ToolCall } from './messages.ts'
import { isDemand, type ModelOptions, type ModelReply, type ModelRequest, type ToolChoice, type ToolOffer } from './model.ts'
import { scopeOf, type Loop, type LoopOptions } from './options.ts'
import { taintOfReply, toSources, withoutOutput, type ReplyFiles } from './provider-steps.ts'
import { Relay, withText } from './relay.ts'
import { schemaInstructions } from './structured-answer.ts'
import { joinTaints, marksOf, taintOfCall, taintOfDescriptions } from './taint.ts'
import { findTool, fitName, namesOf } from './tool-names.ts'
import type { Tool } from './tool.ts'

/** How a turn asks the model. */
export interface TurnOptions {
  /** The label of the model's text; undefined: the text is not published. */
  label: TextLabel | undefined
  mayCall: boolean
  /** True: the model is not told of tools at all, which makes the request shorter. */
  isBare?: true
  /** True: messages of people are not delivered before the turn ends, because they change a plan. */
  isPlanned?: true
  /** Rewrites a reply that a program reads, where pictures are taken out. */
  rewrite?: Rewrite
}

export interface Turn {
  message: AssistantMessage
  finish: EndReason
}

/** A model call: what the model is shown, and the message of its reply. The text is emitted on arrival. */
export class ModelCall {
  readonly request: ModelRequest
  readonly relay: Relay
  private readonly loop: Loop
  private readonly label: TextLabel | undefined
  private readonly taint: Taint | undefined

  constructor(loop: Loop, turn: TurnOptions) {
    const { options, answer } = loop
    answer.startTurn()
    this.loop = loop
    this.label = turn.label
    this.request = toRequest(options, turn)
    // A server may take its descriptions back while the model answers, and a person may delete a memory while the run waits.
    this.taint = options.containment && joinTaints(options.containment.inherited, taintOfDescriptions(options.tools()))
    this.relay = new Relay(loop, turn)
  }

  /** The reply as it was published. */
  receive(reply: ModelReply): ModelReply {
    const { relay, loop } = this
    if (relay.steps?.areOpen) {
      loop.answer.isStale = true
      void relay.steps.close(withoutOutput)
    }
    const published = (loop.options.answerSchema ?? loop.options.imageHosts) ? relay.end(reply) : reply
    loop.options.signal.throwIfAborted()
    return published
  }

  /** The message of a published reply, whose files are kept. */
  toMessage(reply: ModelReply, files: ReplyFiles | undefined): AssistantMessage {
    const { request, relay, label } = this
    const { options, answer, emit } = this.loop
    // A program reads an answer with a schema, so that answer has no notes.
    const faults = files && !options.answerSchema ? files.faults.map((fault) => `\n[${fault}]`).join('') : ''
    const { text, reasoning, vendor, toolCalls: requested } = faults === '' ? reply : withText(reply, reply.text + faults)
    // Tool calls are taken only when tools were offered. Data of the provider holds the other calls too, and is dropped with them.
    const mayCall = request.tools.length > 0
    const taint = this.taint && toSourced(joinTaints(this.taint, taintOfReply(relay.steps, reply.sources)))
    const sources = reply.sources && toSources({ text, sources: reply.sources })
    const message: AssistantMessage = {
      role: 'assistant',
      text,
      toolCalls: mayCall && requested.length > 0 ? toCalls(requested, options, taint) : [],
    }
    if (reasoning) message.reasoning = reasoning
    if (vendor && (mayCall || requested.length === 0)) message.vendor = vendor
    if (sources) message.sources = sources
    if (files && files.artifacts.length > 0) message.artifacts = files.artifacts
    if (taint) message.taint = taint
    for (const held of answer.heldReasoning.splice(0)) void emit(answer.add('reasoning', held))
    if (label !== undefined && faults !== '') void emit(answer.add(label, faults))
    return message
  }
}

/** Undefined for a clean taint, which most replies have. */
function toSourced(taint: Taint): Taint | undefined {
  return taint.sources.length > 0 || taint.isPrivate ? taint : undefined
}

/** The calls of a reply, each with its decider. `taint`: of the reply itself. */
function toCalls(requested: ModelReply['toolCalls'], options: LoopOptions, taint: Taint | undefined): ToolCall[] {
  const { tools, modelOptions, newId } = options
  const toolsByName = namesOf(tools())
  const shown = options.containment && joinTaints(shownBefore(options, options.messages.length), taint)
  // Not every provider can be told to make a single call.
  const taken = modelOptions?.parallelToolCalls === false ? requested.slice(0, 1) : requested
  return taken.map(({ id = newId(), name: requestedName, arguments: input }) => {
    const name = toolsByName.has(requestedName) ? requestedName : fitName(requestedName)
    const tool = findTool(toolsByName, name)
    const held = shown && tool && toHold(toSink(tool, argumentsOf(input), shown, options))
    const by = tool?.approval?.by ?? (held?.verdict === 'approve' ? (tool?.decider ?? 'caller') : undefined)
    return { id, name, arguments: input, ...(by && { approval: by }), ...(held && { held }) }
  })
}

/** What the model is shown, and how the caller wants the call. */
function toRequest(options: LoopOptions, { label, mayCall, isBare }: TurnOptions): ModelRequest {
  const { answerSchema, system, messages, modelOptions, windowTokens } = options
  const offers = offersOf(options, modelOptions?.toolChoice && choiceInForce(modelOptions.toolChoice, messages))
  const tools = mayCall ? offers : []
  const trace = options.trace?.modelCall(options.parentCallId)
  const schema = label === 'answer' ? answerSchema : undefined
  const request: ModelRequest = {
    system: schema ? [system, schemaInstructions(schema)].filter((text) => text !== '').join('\n\n') : system,
    messages: messages.some(
      (message) => message.role !== 'user' && (message.role === 'tool' || message.toolCalls.length > 0 || message.text === ''),
    )
      ? fitTranscript(messages, windowTokens)
      : [...messages],
    tools,
  }
  if (!mayCall && !isBare && offers.length > 0) request.idleTools = offers
  if (schema) request.responseSchema = schema.schema
  if (modelOptions) request.options = optionsOf(modelOptions, messages, tools)
  if (trace) request.trace = trace
  return request
}

/** The caller's options for a model call. */
function optionsOf(options: ModelOptions, messages: readonly Message[], offers: readonly ToolOffer[]): ModelOptions {
  const { toolChoice, parallelToolCalls, ...sampling } = options
  if (offers.length === 0) return sampling
  const choice = choiceInForce(toolChoice, messages)
  // Only the chosen tool is on offer then, by its name for the model.
  const demand = typeof choice === 'object' ? { name: offers[0]?.name ?? choice.name } : choice
  return {
    ...sampling,
    ...(demand === undefined || demand === 'none' ? {} : { toolChoice: demand }),
    ...(parallelToolCalls === undefined ? {} : { parallelToolCalls }),
  }
}

/** The offers of all tools of a list, where nothing changes them. */
const plainOffers = new WeakMap<readonly Tool[], readonly ToolOffer[]>()

/** The offered tools in the form for the model. */
export function offersOf(options: LoopOptions, choice?: ToolChoice): readonly ToolOffer[] {
  const tools = options.tools()
  if (tools.length === 0) return []
  const { filters, offered, containment, hasSkills } = options
  const isPlain = filters.length === 0 && choice === undefined && !offered && !containment && !hasSkills
  const known = isPlain ? plainOffers.get(tools) : undefined
  const offers = known ?? toOffers(tools, options, choice)
  if (isPlain) plainOffers.set(tools, offers)
  return offers
}

/** Names are made over all tools, because the selection may change from turn to turn. */
function toOffers(tools: readonly Tool[], options: LoopOptions, choice: ToolChoice | undefined): ToolOffer[] {
  const { filters, messages } = options
  const toolsByName = namesOf(tools)
  const selected = options.offered ? entriesOf(options.offered(tools, messages), toolsByName) : [...toolsByName]
  const isHeldNow = options.containment && heldNow(options)
  const narrowing = options.hasSkills ? narrowingOf(messages) : undefined
  // Calls of the provider cannot wait for a decision in the middle of a reply, and cannot be refused there.
  const isWithheld = (tool: Tool) => isHeldNow?.(tool) === true || narrowing?.allows(tool) === false
  const entries = isHeldNow || narrowing ? selected.filter(([, tool]) => !tool.provider || !isWithheld(tool)) : selected
  const chosen = choice === undefined ? entries : entries.filter(([, tool]) => isChosen(tool, choice))
  return chosen.map(([name, tool]) => {
    const { schema, provider, approval } = tool
    // Nobody knows what a tool of the client does: to the model, such a tool reads.
    const effect = approval?.by === 'client' ? 'read' : tool.effect
    const description =
      filters.length > 0 && tool.describe ? tool.describe(scopeOf(tool, options.allTools ?? tools, filters)) : tool.description
    return {
      name,
      description,
      schema,
      effect,
      ...((approval || isHeldNow?.(tool)) && { isHeld: true as const }),
      ...(provider && { provider }),
    }
  })
}

/** Returns whether containment would hold a call of a tool. */
function heldNow(options: LoopOptions): (tool: Tool) => boolean {
  const shown = shownBefore(options, options.messages.length)
  return (tool) => {
    // Of several calls in a reply, the second may carry outside the output of the first.
    const isReader = tool.provider && tool.effect === 'read'
    const own = isReader ? { ...taintOfCall(tool.name, marksOf(tool), tool.name), isPrivate: false } : undefined
    return toHold(toSink(tool, {}, joinTaints(shown, own), options)) !== undefined
  }
}

function entriesOf(selection: readonly Tool[], toolsByName: ReadonlyMap<string, Tool>): [string, Tool][] {
  const names = new Map([...toolsByName].map(([name, tool]) => [tool, name]))
  return selection.flatMap((tool): [string, Tool][] => {
    const name = names.get(tool)
    return name === undefined ? [] : [[name, tool]]
  })
}

/** The caller's choice of tools for the next model call. A demand for a call holds until the first call of the run. */
export function choiceInForce(choice: ToolChoice | undefined, messages: readonly Message[]): ToolChoice | undefined {
  return isDemand(choice) && hasCalled(messages) ? 'auto' : choice
}

/** True when the choice leaves the tool to the model. A demand for a call means one of the client's tools. */
export function isChosen({ name, approval }: Pick<Tool, 'name' | 'approval'>, choice: ToolChoice | undefined): boolean {
  const isOfClient = approval?.by === 'client'
  if (choice === undefined || choice === 'auto') return true
  if (choice === 'none') return !isOfClient
  return isOfClient && (choice === 'required' || choice.name === name)
}

/** True when a tool was called since the question. */
function hasCalled(messages: readonly Message[]): boolean {
  const question = messages.findLastIndex(isQuestion)
  return messages.slice(question + 1).some((message) => message.role === 'assistant' && message.toolCalls.length > 0)
}
