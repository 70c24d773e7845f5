import { ModelError, type Model, type ModelErrorCode, type ModelSink } from '../agent/model.ts'
import { orAborted } from '../concurrency/or-aborted.ts'
import { listModels, type ListedModel } from '../configuration/models/findings.ts'
import { ConfigError, formatPath, type ConfigProblem } from '../configuration/problems.ts'
import type { Environment } from '../configuration/references.ts'
import type { AgentConfig, ModelConfig } from '../configuration/schema.ts'
import { createConnections, type Connections } from './connections.ts'
import { createModel, createModels, createSmallModel } from './create-model.ts'
import { createEmbedder } from './embeddings/create-embedder.ts'
import { describePrices, findUnpriced, pricesOf } from './find-prices.ts'
import { messageOf } from '../errors.ts'
import type { ModelAbilities } from '../configuration/models/abilities.ts'

/** Result of a check: a line of text, and advice if the check did not pass. */
export interface Finding {
  state: 'ok' | 'warn' | 'fail'
  text: string
  advice?: string
  /** Further lines about what was found. */
  details?: readonly string[]
}

/** Reasons why the models of a configuration cannot be used: missing keys, unset variables, prices that a budget needs. */
export function findModelProblems(config: AgentConfig, environment: Environment): ConfigProblem[] {
  const { llms } = config
  const deps = { environment, connections: createConnections() }
  const attempts = [
    () => createModels(llms, deps),
    ...(llms.small ? [() => createSmallModel(llms, deps)] : []),
    () => createEmbedder(llms.embedding, deps),
  ]
  const problems = attempts.flatMap((make) => {
    try {
      make()
      return []
    } catch (error) {
      if (error instanceof ConfigError) return error.problems
      throw error
    }
  })
  return [...problems, ...findUnpriced(config, environment)]
}

export interface ModelCheckOptions {
  environment: Environment
  /** Time limit for a tiny answer. */
  timeoutMs: number
}

/** Sends a tiny request to each model in parallel. */
export async function checkModels({ llms }: AgentConfig, options: ModelCheckOptions): Promise<Finding[]> {
  const { embedding } = llms
  const models = listModels(llms).filter(({ name }) => name !== 'embedding')
  const connections = createConnections()
  const make = (config: ModelConfig) => createModel(config, { environment: options.environment, connections })
  try {
    const findings = await Promise.all(
      models.map(async (listed): Promise<Finding> => {
        const finding = await checkModel(formatPath(listed.at), listed.config, make, options.timeoutMs)
        if (finding.state === 'fail') return finding
        const isFree = listed.config.provider === 'embedded'
        const prices = isFree ? [] : [describePrices(pricesOf(listed.config, options.environment))]
        return { ...finding, details: [describeAbilities(listed), ...prices] }
      }),
    )
    return embedding ? [...findings, await checkEmbedder(embedding, { ...options, connections })] : findings
  } finally {
    await connections.close()
  }
}

type CreateModel = (config: ModelConfig) => Model

async function checkModel(field: string, config: ModelConfig, make: CreateModel, timeoutMs: number): Promise<Finding> {
  const creation = checkCreation(field, config, make)
  if (creation.state !== 'ok' || config.provider === 'embedded') return creation
  const label = `${field}: ${config.provider} ${config.model}`
  const timeout = AbortSignal.timeout(timeoutMs)
  const startedAt = performance.now()
  try {
    await askTiny(make(toTiny(config)), timeout)
    return { state: 'ok', text: `${label} answered in ${((performance.now() - startedAt) / 1000).toFixed(2)} s` }
  } catch (error) {
    if (timeout.aborted) return { state: 'fail', text: `${label} did not answer within ${timeoutMs / 1000} s`, advice: advice.unavailable }
    if (!(error instanceof ModelError)) throw error
    return { state: error.code === 'rate_limited' ? 'warn' : 'fail', text: `${field}: ${error.message}`, advice: advice[error.code] }
  }
}

async function checkEmbedder(config: ModelConfig, options: ModelCheckOptions & { connections: Connections }): Promise<Finding> {
  const label = `llms.embedding: ${config.provider} ${config.model}`
  const timeout = AbortSignal.timeout(options.timeoutMs)
  try {
    const [vector = []] = (await createEmbedder(config, options)?.embed(['ok'], timeout)) ?? []
    return { state: 'ok', text: `${label} returned a vector of ${vector.length} numbers` }
  } catch (error) {
    if (timeout.aborted)
      return { state: 'fail', text: `${label} did not answer within ${options.timeoutMs / 1000} s`, advice: advice.unavailable }
    if (error instanceof ModelError) return { state: 'fail', text: `llms.embedding: ${error.message}`, advice: advice[error.code] }
    const reason = messageOf(error)
    return { state: 'fail', text: reason, advice: 'Correct llms.embedding in agent.yaml, or set the variable.' }
  }
}

function checkCreation(field: string, config: ModelConfig, make: CreateModel): Finding {
  try {
    make(config)
  } catch (error) {
    const reason = messageOf(error)
    return { state: 'fail', text: `${field}: ${reason}`, advice: `Correct ${field} in agent.yaml, or set the variable.` }
  }
  if (config.provider === 'embedded')
    return { state: 'ok', text: `${field}: embedded ${config.model}, a demonstration model that works by rules` }
  return { state: 'ok', text: `${field}: ${config.provider} ${config.model} is configured (not called)` }
}

const advice: Record<ModelErrorCode, string> = {
  unauthorized: 'Check that api_key is right and that the key may use this model.',
  unavailable: 'Check that the server runs, that base_url is right, and that the server can be reached from here.',
  refused: 'Check that the model exists, and that the model supports its settings in agent.yaml.',
  rate_limited: 'The key is accepted, but has reached its rate limit: wait, or raise the limit.',
}

/** Reasoning needs tokens, and some models refuse a limit below their reasoning budget. */
const tinyTokens = 64

function toTiny(config: ModelConfig): ModelConfig {
  return config.reasoning_effort === undefined ? { ...config, max_output_tokens: tinyTokens } : config
}

/** Waits for the first event of a reply, then closes the connection. Any event proves that the model works. */
async function askTiny(model: Model, signal: AbortSignal): Promise<void> {
  const firstEvent = new AbortController()
  const request = { system: '', messages: [{ role: 'user' as const, text: 'Say "ok".' }], tools: [] }
  const stop: ModelSink = () => {
    firstEvent.abort()
    return undefined
  }
  try {
    await orAborted(model.reply(request, stop, AbortSignal.any([signal, firstEvent.signal])), signal)
  } catch (error) {
    if (!firstEvent.signal.aborted) throw error
  }
}

/** The abilities that the service assumes for a model, as a line. */
export function describeAbilities({ wire, abilities, source }: ListedModel): string {
  const parts = [
    `wire ${wire}`,
    toTools(abilities),
    toSchemas(abilities),
    toReasoning(abilities),
    toMedia(abilities),
    abilities.cache === 'none' ? 'no prompt cache' : `prompt cache: ${abilities.cache}`,
    ...(abilities.providerTools.length > 0 ? [`tools of the provider: ${abilities.providerTools.join(', ')}`] : []),
  ]
  return `${parts.join('; ')}${source === 'default' ? ' (assumed: the model is not in the table)' : ''}`
}

function toTools({ tools, parallelTools, strictTools }: ModelAbilities): string {
  if (!tools) return 'no tools'
  return ['tools', ...(parallelTools ? [] : ['one at a time']), ...(strictTools ? ['strict'] : [])].join(', ')
}

function toSchemas({ structuredOutput }: ModelAbilities): string {
  const texts = { with_tools: 'schemas beside tools', without_tools: 'schemas without tools', none: 'schemas by instruction' }
  return texts[structuredOutput]
}

function toReasoning({ efforts, reasoningTokens }: ModelAbilities): string {
  if (efforts.length === 0) return reasoningTokens ? 'reasoning in tokens' : 'no reasoning effort'
  return `reasoning ${efforts.join(', ')}${reasoningTokens ? ' or in tokens' : ''}`
}

function toMedia({ images, documents, audio, video }: ModelAbilities): string {
  const kinds = Object.entries({ images, PDF: documents, audio, video }).flatMap(([kind, isRead]) => (isRead ? [kind] : []))
  return kinds.length > 0 ? `reads ${kinds.join(', ')}` : 'reads text only'
}
