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

interface KnownKey {
  /** Any of these. */
  names: readonly string[]
  line(name: string): string
}

/** The models are examples, each a good one to begin with. */
const knownKeys: readonly KnownKey[] = [
  { names: ['OPENAI_API_KEY'], line: (name) => primary('openai', 'gpt-5-mini', name) },
  { names: ['ANTHROPIC_API_KEY'], line: (name) => primary('anthropic', 'claude-sonnet-4-5', name, 'max_output_tokens: 4000') },
  { names: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'], line: (name) => primary('google', 'gemini-2.5-flash', name) },
  { names: ['MISTRAL_API_KEY'], line: (name) => primary('mistral', 'mistral-medium-latest', name) },
  {
    names: ['AZURE_OPENAI_API_KEY'],
    line: (name) => primary('azure', 'DEPLOYMENT', name, 'base_url: "https://RESOURCE.openai.azure.com"'),
  },
  {
    names: ['AWS_ACCESS_KEY_ID'],
    // A configuration can't use the service's own AWS_ variables: an agent must not be able to send them anywhere.
    line: () =>
      'primary: { provider: amazon-bedrock, model: amazon.nova-lite-v1:0, region: us-east-1, access_key_id: "${BEDROCK_KEY_ID}", ' +
      'secret_access_key: "${BEDROCK_SECRET}" }  # with the key under these names: AWS_* is the service\'s own',
  },
]

function primary(provider: string, model: string, key: string, more?: string): string {
  return `primary: { provider: ${provider}, model: ${model}, api_key: "\${${key}}"${more === undefined ? '' : `, ${more}`} }`
}

/** Models that could be used here: keys in the environment (told by name, never by value), and an Ollama that answers. */
export async function findModelOffers(environment: Environment, ollamaUrl = ollama): Promise<ModelOffer[]> {
  const offers = knownKeys.flatMap(({ names, line }) => {
    // Where files are kept in a bucket, that is what this key is for.
    const isOther = (name: string) => name === 'AWS_ACCESS_KEY_ID' && environment['ARTIFACT_STORE']
    const set = names.filter((name) => environment[name] && !isOther(name))
    return set[0] === undefined ? [] : [{ found: `${set.join(' and ')} in the environment`, line: line(set[0]) }]
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
