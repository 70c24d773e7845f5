import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelRequest, ToolOffer } from '../../agent/model.ts'
import type { ModelAbilities } from '../../configuration/models/abilities.ts'
import type { Provider } from '../../configuration/providers.ts'
import { isStrict } from '../strict-schema.ts'
import { toToolSchema } from '../tool-schema.ts'

/** Claude refuses a request with more strict tools. */
const maxStrictOfClaude = 20

/** The agent's own tools. The provider enforces the schemas of tools where the provider and the schema allow it. */
export function toFunctionTools(
  provider: Provider,
  offers: readonly ToolOffer[],
  { strictTools }: Pick<ModelAbilities, 'strictTools'>,
): LanguageModelV4FunctionTool[] {
  let remaining = provider === 'anthropic' ? maxStrictOfClaude : Infinity
  return offers
    .filter(({ provider: kind }) => !kind)
    .map(({ name, description, schema: whole }) => {
      const schema = toToolSchema(whole)
      const isEnforced = strictTools && remaining > 0 && isStrict(schema)
      if (isEnforced) remaining--
      // The responses API enforces a schema unless told otherwise, and changes the schema for that.
      const strict = isEnforced ? { strict: true } : isOnResponses(provider) ? { strict: false } : {}
      return { type: 'function', name, description, inputSchema: schema, ...strict }
    })
}

/**
 * The schema of the answer, where the provider enforces one. Beside tools only with an ability for both: other models would answer by a tool of
 * the package, which takes the place of the agent's tools. That tool needs an object.
 */
export function toAnswerFormat(
  provider: Provider,
  { responseSchema, tools }: Pick<ModelRequest, 'responseSchema' | 'tools'>,
  { structuredOutput }: Pick<ModelAbilities, 'structuredOutput'>,
): Pick<LanguageModelV4CallOptions, 'responseFormat'> & { providerOptions?: SharedV4ProviderOptions } {
  if (!responseSchema || responseSchema['type'] !== 'object' || structuredOutput === 'none') return {}
  const { $schema: _, ...schema } = responseSchema
  const isEnforced = isStrict(schema)
  // Claude refuses other schemas, and answers that are to have citations: those of its searches.
  const isRefused = provider === 'anthropic' && (!isEnforced || tools.some((tool) => tool.provider))
  if (tools.length > 0 && (structuredOutput !== 'with_tools' || isRefused)) return {}
  const strictness = isOnResponses(provider) && provider !== 'xai' ? { providerOptions: { openai: { strictJsonSchema: isEnforced } } } : {}
  return { responseFormat: { type: 'json', name: 'answer', schema }, ...strictness }
}

const packages: ReadonlySet<Provider> = new Set(['anthropic', 'google', 'amazon-bedrock'])

/** Whether the provider is called by the responses API: every provider without a package of its own. */
export function isOnResponses(provider: Provider): boolean {
  return !packages.has(provider)
}
