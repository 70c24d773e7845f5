import type { JsonObject, JsonValue } from '../agent/messages.ts'
import type { ProviderTool } from '../agent/model.ts'
import type { Tool } from '../agent/tool.ts'
import { effectOfProviderTool } from '../configuration/provider-tool-schema.ts'
import { resolveReferences, type Environment } from '../configuration/references.ts'
import type { ToolConfigOf } from '../configuration/tool-types.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from './builder.ts'

type Config = ToolConfigOf<'provider'>

const descriptions: Record<Config['tool'], string> = {
  web_search: 'Searches the web.',
  code: 'Runs code in a sandbox of the provider.',
  fetch: 'Reads web pages.',
  file_search: 'Searches files that are stored at the provider.',
  mcp: 'Calls tools of a remote MCP server.',
  image_generation: 'Makes pictures.',
  x_search: 'Searches posts on X.',
}

/** The type `provider`: a tool that the provider of the model runs. The service only offers the tool to the model. */
export function createProviderTool(spec: ToolSpec, { environment }: Pick<ToolDependencies, 'environment'>): ToolBuild {
  const config = spec.config as Config
  const effect = effectOfProviderTool(config.tool, spec.effect)
  const tool = createTool(spec, {
    description: `${descriptions[config.tool]} Run by the provider of the model.`,
    schema: { type: 'object' },
    effect,
    execute: async () => {
      throw new Error(`${spec.name} runs at the provider of the model: only a model can use it, in a chat.`)
    },
  })
  // A variable that is not set is reported when the tool is built, not in the middle of a chat.
  toOffer(config, environment)
  return { tool: withOffer(tool, () => toOffer(config, environment)) }
}

/** The tool with settings that are resolved at each use: a secret may change while the service runs. */
function withOffer(tool: Tool, offer: () => ProviderTool): Tool {
  return Object.defineProperty({ ...tool }, 'provider', { get: offer, enumerable: true })
}

/** The settings of the kind, with the values of secrets and addresses. `price` is for the service. */
function toOffer({ tool, price: _price, ...settings }: Config, environment: Environment): ProviderTool {
  const { server_url: address, authorization, headers, ...rest } = settings
  const resolve = (text: string) => resolveReferences(text, environment)
  const config: JsonObject = { ...(rest as Record<string, JsonValue>) }
  if (address !== undefined) config['server_url'] = resolve(address)
  if (authorization !== undefined) config['authorization'] = resolve(authorization)
  if (headers) config['headers'] = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, resolve(value)]))
  return { tool, config }
}
