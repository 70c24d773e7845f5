import { ModelError, type Model, type ModelErrorCode } from '../agent/model.ts'
import { ConfigError, type ConfigProblem } from '../configuration/problems.ts'
import type { Environment } from '../configuration/references.ts'
import type { AgentConfig, ModelConfig } from '../configuration/schema.ts'
import { createConnections, type Connections } from './connections.ts'
import { createModel, createModels, createSmallModel } from './create-model.ts'
import { createEmbedder } from './embeddings/create-embedder.ts'
import { messageOf } from '../errors.ts'

/** What became of a look at something: one line, and what to do where it is not well. */
export interface Finding {
  state: 'ok' | 'warn' | 'fail'
  text: string
  advice?: string
}

/** Why the models of a configuration can't be made: keys that are missing, variables that are not set. */
export function findModelProblems({ llms }: AgentConfig, environment: Environment): ConfigProblem[] {
  const deps = { environment, connections: createConnections() }
  const makings = [
    () => createModels(llms, deps),
    ...(llms.small ? [() => createSmallModel(llms, deps)] : []),
    () => createEmbedder(llms.embedding, deps),
  ]
  return makings.flatMap((make) => {
    try {
      make()
      return []
    } catch (error) {
      if (error instanceof ConfigError) return error.problems
      throw error
    }
  })
}

export interface ModelCheckOptions {
  environment: Environment
  /** How long a model may take for a tiny answer. */
  timeoutMs: number
}

/** Asks each model something tiny, all at once. */
export async function checkModels({ llms }: AgentConfig, options: ModelCheckOptions): Promise<Finding[]> {
  const { primary, fallback, small, embedding } = llms
  const asked: [string, ModelConfig][] = [['llms.primary', primary]]
  fallback.forEach((config, index) => asked.push([`llms.fallback[${index}]`, config]))
  if (small) asked.push(['llms.small', small])
  const connections = createConnections()
  const make = (config: ModelConfig) => createModel(config, { environment: options.environment, connections })
  try {
    const findings = await Promise.all(asked.map(([place, config]) => checkModel(place, config, make, options.timeoutMs)))
    return embedding ? [...findings, await checkEmbedder(embedding, { ...options, connections })] : findings
  } finally {
    await connections.close()
  }
}

type Make = (config: ModelConfig) => Model

async function checkModel(place: string, config: ModelConfig, make: Make, timeoutMs: number): Promise<Finding> {
  const makable = checkMakable(place, config, make)
  if (makable.state !== 'ok' || config.provider === 'embedded') return makable
  const what = `${place}: ${config.provider} ${config.model}`
  const timeout = AbortSignal.timeout(timeoutMs)
  const startedAt = performance.now()
  try {
    await askTiny(make(toTiny(config)), timeout)
    return { state: 'ok', text: `${what} answered in ${((performance.now() - startedAt) / 1000).toFixed(2)} s` }
  } catch (error) {
    if (timeout.aborted) return { state: 'fail', text: `${what} did not answer within ${timeoutMs / 1000} s`, advice: advice.unavailable }
    if (!(error instanceof ModelError)) throw error
    return { state: error.code === 'rate_limited' ? 'warn' : 'fail', text: `${place}: ${error.message}`, advice: advice[error.code] }
  }
}

async function checkEmbedder(config: ModelConfig, options: ModelCheckOptions & { connections: Connections }): Promise<Finding> {
  const what = `llms.embedding: ${config.provider} ${config.model}`
  const timeout = AbortSignal.timeout(options.timeoutMs)
  try {
    const [vector = []] = (await createEmbedder(config, options)?.embed(['ok'], timeout)) ?? []
    return { state: 'ok', text: `${what} gave a vector of ${vector.length} numbers` }
  } catch (error) {
    if (timeout.aborted)
      return { state: 'fail', text: `${what} did not answer within ${options.timeoutMs / 1000} s`, advice: advice.unavailable }
    if (error instanceof ModelError) return { state: 'fail', text: `llms.embedding: ${error.message}`, advice: advice[error.code] }
    const why = messageOf(error)
    return { state: 'fail', text: why, advice: 'Correct llms.embedding in agent.yaml, or set the variable.' }
  }
}

function checkMakable(place: string, config: ModelConfig, make: Make): Finding {
  try {
    make(config)
  } catch (error) {
    const why = messageOf(error)
    return { state: 'fail', text: `${place}: ${why}`, advice: `Correct ${place} in agent.yaml, or set the variable.` }
  }
  if (config.provider === 'embedded')
    return { state: 'ok', text: `${place}: embedded ${config.model}, a rule-based model, no language model` }
  return { state: 'ok', text: `${place}: ${config.provider} ${config.model} is configured (not asked)` }
}

const advice: Record<ModelErrorCode, string> = {
  unauthorized: 'Is the api_key right, and may it use this model?',
  unavailable: 'Does the server run, is base_url right, and can it be reached from here?',
  refused: 'Is there a model of this name, and does it take the settings that agent.yaml gives it?',
  rate_limited: 'The key is accepted, but its limit is reached: wait, or raise the limit.',
}

/** A thought needs room, and some models refuse less than they think. */
const tinyTokens = 64

function toTiny(config: ModelConfig): ModelConfig {
  return config.reasoning_effort === undefined ? { ...config, max_output_tokens: tinyTokens } : config
}

/** Leaves, which closes the connection, as soon as anything comes: that the model answers is all that counts. */
async function askTiny(model: Model, signal: AbortSignal): Promise<void> {
  const replying = model.reply({ system: '', messages: [{ role: 'user', text: 'Say "ok".' }], tools: [] }, signal)
  const late = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('too late')), { once: true }))
  try {
    await Promise.race([replying.next(), late])
  } finally {
    void replying.return(undefined as never).catch(() => undefined)
  }
}
