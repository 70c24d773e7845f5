import { scopeIn, type LoopOptions } from './options.ts'
import type { ToolOffer } from './model.ts'
import type { Tool } from './tool.ts'
import { choiceInForce, isChosen } from './tool-choice.ts'
import { nameTools } from './tool-names.ts'

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
