import { scopeIn, type LoopOptions } from './options.ts'
import type { ToolOffer, ToolChoice, ModelOptions, ModelRequest } from './model.ts'
import type { Tool } from './tool.ts'
import { nameTools } from './tool-names.ts'
import type { Message } from './messages.ts'
import { schemaInstructions } from './structured-answer.ts'
import type { TextLabel } from './events.ts'
import { fitOutputs, repair, fitImages } from './history.ts'

export function toRequest(
  options: LoopOptions,
  label: TextLabel | undefined,
  offered: Pick<ModelRequest, 'tools' | 'idleTools'>,
): ModelRequest {
  const { windowTokens = Infinity } = options
  const trace = options.trace?.modelCall(options.parentCallId)
  const messages = fitOutputs(shownMessages(options.messages), windowTokens)
  const wanted = optionsOf(options, offered.tools)
  return { ...promptOf(options, label), messages, ...offered, ...(wanted && { options: wanted }), ...(trace && { trace }) }
}

function promptOf({ system, answerSchema }: LoopOptions, label: TextLabel | undefined): Pick<ModelRequest, 'system' | 'responseSchema'> {
  if (label !== 'answer' || !answerSchema) return { system }
  const parts = [system, schemaInstructions(answerSchema)].filter((text) => text !== '')
  return { system: parts.join('\n\n'), responseSchema: answerSchema.schema }
}

/** The transcript that the model is shown. Only tool results have pictures that need to be selected. */
function shownMessages(transcript: readonly Message[]): readonly Message[] {
  const messages = repair(transcript)
  return messages.some(({ role }) => role === 'tool') ? fitImages(messages) : messages
}

/** The caller's options for a model call; undefined for none. */
function optionsOf({ modelOptions, messages }: LoopOptions, offers: readonly ToolOffer[]): ModelOptions | undefined {
  if (!modelOptions) return undefined
  const { toolChoice, parallelToolCalls, ...sampling } = modelOptions
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

/** The tools in the form for the model. */
export function offersOf(options: LoopOptions): ToolOffer[] {
  return [...offeredTools(options)].map((entry) => toOffer(options, entry))
}

/** The offered tools that the caller's choice leaves to the model. */
export function chosenOffers(options: LoopOptions): ToolOffer[] {
  const choice = choiceInForce(options.modelOptions?.toolChoice, options.messages)
  const offered = [...offeredTools(options)].filter(([, tool]) => isChosen(tool, choice))
  return offered.map((entry) => toOffer(options, entry))
}

function toOffer(options: LoopOptions, [name, tool]: [string, Tool]): ToolOffer {
  const { schema, provider, approval } = tool
  // Nobody knows what a tool of the client does: to the model, such a tool reads.
  const effect = approval?.by === 'client' ? 'read' : tool.effect
  const description = descriptionIn(options, tool)
  return { name, description, schema, effect, ...(approval && { isHeld: true as const }), ...(provider && { provider }) }
}

/** Names are made over all tools, because the selection may change from turn to turn. */
function offeredTools(options: LoopOptions): Iterable<[string, Tool]> {
  const tools = options.tools()
  const toolsByName = nameTools(tools)
  if (!options.offered) return toolsByName
  const names = new Map([...toolsByName].map(([name, tool]) => [tool, name]))
  return options.offered(tools, options.messages).flatMap((tool): [string, Tool][] => {
    const name = names.get(tool)
    return name === undefined ? [] : [[name, tool]]
  })
}

function descriptionIn(options: LoopOptions, tool: Tool): string {
  return options.filters.length > 0 && tool.describe ? tool.describe(scopeIn(options, tool)) : tool.description
}

/** Whether a choice leaves the model no answer but a call. Models of several providers cannot think then. */
export function isDemand(choice: ToolChoice | undefined): choice is Exclude<ToolChoice, 'auto' | 'none'> {
  return choice !== undefined && choice !== 'auto' && choice !== 'none'
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
  const question = messages.findLastIndex((message) => message.role === 'user' && message.instruction === undefined)
  return messages.slice(question + 1).some((message) => message.role === 'assistant' && message.toolCalls.length > 0)
}
