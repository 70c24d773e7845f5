import { connect } from 'node:net'
import { providers, type ProviderExample, type ProviderTraits } from '../configuration/providers.ts'
import type { Environment } from '../configuration/references.ts'
import type { AgentConfig } from '../configuration/schema.ts'

/** A model that is available here, with the line of `llms` in agent.yaml that selects the model. */
interface ModelOffer {
  source: string
  line: string
}

const ollama = 'http://127.0.0.1:11434'
/** Longest time that a start waits for a server that may not exist. */
const probeMs = 300

/** The line of `llms` that selects a provider, with the API key from the environment variable `key`. */
function lineOf(provider: string, { needs }: ProviderTraits, example: ProviderExample, key: string): string {
  const fields = [
    `provider: ${provider}`,
    `model: ${example.model}`,
    ...(needs.includes('api_key') ? [`api_key: "\${${key}}"`] : []),
    ...(example.settings === undefined ? [] : [example.settings]),
  ]
  return `primary: { ${fields.join(', ')} }${example.note === undefined ? '' : `  # ${example.note}`}`
}

/** Finds available models: API keys in the environment (reported by name, never by value) and a reachable Ollama server. */
export async function findModelOffers(environment: Environment, ollamaUrl = ollama): Promise<ModelOffer[]> {
  const offers = Object.entries<ProviderTraits>(providers).flatMap(([provider, traits]) => {
    const { example } = traits
    if (!example) return []
    // If ARTIFACT_STORE is set, the AWS key is for the bucket of artifacts, not for a model.
    const isOther = (name: string) => name === 'AWS_ACCESS_KEY_ID' && environment['ARTIFACT_STORE']
    const set = example.environment.filter((name) => environment[name] && !isOther(name))
    return set[0] === undefined
      ? []
      : [{ source: `${set.join(' and ')} in the environment`, line: lineOf(provider, traits, example, set[0]) }]
  })
  const model = await findOllamaModel(ollamaUrl)
  if (model === undefined) return offers
  const line = `primary: { provider: openai-compatible, model: ${JSON.stringify(model)}, base_url: "${ollamaUrl}/v1" }`
  return [...offers, { source: `Ollama at ${ollamaUrl}`, line }]
}

/** Lines that a start prints while the embedded model is in use: the nature of that model, and available alternatives. Takes at most 0.3 s. */
export async function adviseOnModels({ llms }: AgentConfig, environment: Environment, ollamaUrl = ollama): Promise<string[]> {
  if (llms.primary.provider !== 'embedded') return []
  const offers = await findModelOffers(environment, ollamaUrl)
  return [
    `The model in use is embedded: a demonstration model that works by rules, no language model. Another one is set in agent.yaml, under llms.`,
    ...offers.flatMap(({ source, line }) => [`Found ${source}. To use it:`, `  ${line}`]),
  ]
}

/** The first installed model; `MODEL` as a placeholder if there is no model, or if another server listens on the port. */
async function findOllamaModel(url: string): Promise<string | undefined> {
  try {
    // `fetch` takes 5 MB of memory, and most machines have no such server.
    if (!(await isListening(new URL(url)))) return undefined
    const reply = await fetch(`${url}/api/tags`, { signal: AbortSignal.timeout(probeMs) })
    const { models } = (await reply.json().catch(() => ({}))) as { models?: { name?: unknown }[] }
    const name = Array.isArray(models) ? models[0]?.name : undefined
    return typeof name === 'string' ? name : 'MODEL'
  } catch {
    return undefined
  }
}

function isListening({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: probeMs })
    const settle = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => settle(true))
    for (const event of ['error', 'timeout']) socket.once(event, () => settle(false))
  })
}
