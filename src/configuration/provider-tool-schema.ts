import { Type } from 'typebox'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'
import { Address, optional, Secret, secretsOf, optionalNumber, optionalText } from './schema-parts.ts'
import { isObject, fieldsOf } from '../json/shape.ts'

/** The kinds of tools that providers of models run. */
const providerTools = ['web_search', 'code', 'fetch', 'file_search', 'mcp', 'image_generation', 'x_search'] as const

/** Largest size of the settings of an entry, in characters of JSON. */
const maxSettings = 16_384

const Setting = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Array(Type.Unknown()),
  Type.Record(Type.String(), Type.Unknown()),
])

/** The `config` of the tool type `provider`. Further fields are settings of the kind, for the provider. */
export const ProviderToolConfig = Type.Object(
  {
    tool: Type.Enum([...providerTools], {
      description: 'The kind of the tool. A model whose provider has no such tool works without it.',
    }),
    price: optionalNumber('USD per successful call, for the usage of runs. Default: calls are not counted as cost.', { minimum: 0 }),
    server_url: optionalText('For `mcp`: the address of the server, which the provider calls; may contain `${NAME}`.', Address),
    authorization: optionalText('For `mcp`: the token that the provider sends to the server; a value, or `${NAME}`.', Secret),
    headers: optional(secretsOf('For `mcp`: headers that the provider sends to the server. Values are secrets and may contain `${NAME}`.')),
  },
  {
    additionalProperties: Setting,
    maxProperties: 50,
    description:
      "A tool that the model's provider runs. Further fields are settings of the kind, such as `allowed_domains`; at most 16 KiB as JSON.",
  },
)

export function checkProviderSettings(config: Readonly<Record<string, unknown>>, at: Path): ConfigProblem[] {
  const size = JSON.stringify(config).length
  const problems = size > maxSettings ? [problemAt(at, `has ${size} characters as JSON; the limit is ${maxSettings}`)] : []
  const isMissing = config['tool'] === 'mcp' && config['server_url'] === undefined && config['connector_id'] === undefined
  return isMissing ? [...problems, problemAt([...at, 'server_url'], 'is required by the tool mcp but missing')] : problems
}

/** The effect of an entry's calls. A remote server may change anything. */
export function effectOfProviderTool(tool: unknown, effect: unknown): 'read' | 'write' {
  return effect === 'read' || effect === 'write' ? effect : tool === 'mcp' ? 'write' : 'read'
}

/** Finds entries whose calls would have to wait for an approval: the provider runs a call before the service hears of it. */
export function checkProviderApprovals(config: unknown): ConfigProblem[] {
  const { tools, approvals } = fieldsOf(config)
  const effects = isObject(approvals) && Array.isArray(approvals['effects']) ? (approvals['effects'] as unknown[]) : []
  if (!Array.isArray(tools)) return []
  return tools.flatMap((entry: unknown, index) => {
    if (!isObject(entry) || (entry['type'] ?? entry['name']) !== 'provider') return []
    const at = ['tools', index, 'approval']
    const reason = 'the provider runs a call before the service hears of it'
    if (entry['approval'] === 'required') return [problemAt(at, `cannot be \`required\` for a tool of type provider: ${reason}`)]
    const settings = fieldsOf(entry['config'])
    const effect = effectOfProviderTool(settings['tool'], entry['effect'])
    if (entry['approval'] === 'none' || !effects.includes(effect)) return []
    const remedy = 'set `approval: none` to let it run without one, or remove the tool'
    return [
      problemAt(at, `\`approvals.effects\` has \`${effect}\`, but calls of this tool cannot wait for an approval: ${reason}; ${remedy}`),
    ]
  })
}
