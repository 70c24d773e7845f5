import { providers, type ProviderExample, type ProviderTraits } from '../../configuration/providers.ts'
import type { Environment } from '../../configuration/references.ts'
import type { AgentConfig } from '../../configuration/schema.ts'

/** A model that could be used here, and the line of `llms` in agent.yaml that does it. */
export interface ModelOffer {
  found: string
  line: string
}

const ollama = 'http://127.0.0.1:11434'
/** A start waits no longer than this for a server that may not be there. */
const probeMs = 300

/** The line of `llms` that uses a provider, with its key in the environment variable `key`. */
function lineOf(provider: string, { needs }: ProviderTraits, example: ProviderExample, key: string): string {
  const fields = [
    `provider: ${provider}`,
    `model: ${example.model}`,
    ...(needs.includes('api_key') ? [`api_key: "\${${key}}"`] : []),
    ...(example.settings === undefined ? [] : [example.settings]),
  ]
  return `primary: { ${fields.join(', ')} }${example.note === undefined ? '' : `  # ${example.note}`}`
}

/** Models that could be used here: keys in the environment (told by name, never by value), and an Ollama that answers. */
export async function findModelOffers(environment: Environment, ollamaUrl = ollama): Promise<ModelOffer[]> {
  const offers = Object.entries<ProviderTraits>(providers).flatMap(([provider, traits]) => {
    const { example } = traits
    if (!example) return []
    // Where files are kept in a bucket, that is what this key is for.
    const isOther = (name: string) => name === 'AWS_ACCESS_KEY_ID' && environment['ARTIFACT_STORE']
    const set = example.environment.filter((name) => environment[name] && !isOther(name))
    return set[0] === undefined
      ? []
      : [{ found: `${set.join(' and ')} in the environment`, line: lineOf(provider, traits, example, set[0]) }]
  })
  const model = await findOllamaModel(ollamaUrl)
  if (model === undefined) return offers
  const line = `primary: { provider: openai-compatible, model: ${JSON.stringify(model)}, base_url: "${ollamaUrl}/v1" }`
  return [...offers, { found: `Ollama at ${ollamaUrl}`, line }]
}

/** What a start says where the embedded model is in use: what it is, and what could take its place. Takes 0.3 s at most. */
export async function adviseOnModels({ llms }: AgentConfig, environment: Environment, ollamaUrl = ollama): Promise<string[]> {
  if (llms.primary.provider !== 'embedded') return []
  const offers = await findModelOffers(environment, ollamaUrl)
  return [
    `The model in use is embedded: a rule-based model, no language model. Another one is set in agent.yaml, under llms.`,
    ...offers.flatMap(({ found, line }) => [`Found ${found}. To use it:`, `  ${line}`]),
  ]
}

/** The first model that is there; a placeholder where there is none, or what answers is no Ollama but listens on its port. */
async function findOllamaModel(url: string): Promise<string | undefined> {
  try {
    const reply = await fetch(`${url}/api/tags`, { signal: AbortSignal.timeout(probeMs) })
    const { models } = (await reply.json().catch(() => ({}))) as { models?: { name?: unknown }[] }
    const name = Array.isArray(models) ? models[0]?.name : undefined
    return typeof name === 'string' ? name : 'MODEL'
  } catch {
    return undefined
  }
}
