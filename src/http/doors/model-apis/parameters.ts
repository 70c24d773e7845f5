import type { TSchema } from 'typebox'
import type { ModelOptions, ReasoningEffort, ToolChoice } from '../../../agent/model.ts'
import { parametersLackedBy, wireOf } from '../../../configuration/models/abilities.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { invalid, ServiceError } from '../../../errors.ts'

/** The parameters of a request to a model: the name of the agent, the options of the model calls, and the refusal of parameters without effect. */

/** By parameter: whether a value is refused, and the message. */
export type ParameterRules = Record<string, [isRefused: (value: unknown) => boolean, message: string]>

export const isAny = () => true
export const isNot =
  (...allowed: unknown[]) =>
  (value: unknown): boolean =>
    !allowed.includes(value)
export const ownTools = 'is not supported: the agent uses its own tools'

interface Allowed {
  /** The schemas of the parameters that have an effect. */
  known: Record<string, TSchema>
  rules?: ParameterRules
  config: AgentConfig
  path?: string[]
}

/** Throws for the first parameter that would have no effect. Unknown parameters are ignored where agent.yaml says so. */
export function refuseParameters(parameters: object, { known, rules = {}, config, path = [] }: Allowed): void {
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule?.[0](value)) throw unsupported([...path, name], rule[1])
    if (rule || Object.hasOwn(known, name) || config.openai.unknown_parameters === 'ignore') continue
    throw unsupported([...path, name], 'is not known; with `openai.unknown_parameters: ignore` in agent.yaml, it would be ignored')
  }
}

export function unsupported(path: (string | number)[], message: string): Error {
  return invalid(['body', ...path], message, 'unsupported_parameter')
}

/** Whether a model of a request is the `uri_id`, `id` or `name` of the agent. */
export function isAgent(model: string, { id, uri_id: uriId, name }: AgentConfig): boolean {
  return model === uriId || model === id || model === name
}

/** Throws unless `model` is a name of the agent. */
export function refuseOtherModel(model: string, config: AgentConfig): void {
  if (isAgent(model, config)) return
  const { uri_id: uriId } = config
  const faults = [{ loc: ['body', 'model'], msg: `there is no model ${model}; use ${uriId}`, type: 'model_not_found' }]
  throw new ServiceError('not_found', `There is no model ${model}.`, { faults })
}

/** The parameters of a request that become options of the model calls. */
interface ModelParameters {
  temperature?: number | null | undefined
  top_p?: number | null | undefined
  presence_penalty?: number | null | undefined
  frequency_penalty?: number | null | undefined
  seed?: number | null | undefined
  stop?: string | string[] | null | undefined
  parallel_tool_calls?: boolean | null | undefined
  max_output_tokens?: number | null | undefined
  reasoning_effort?: ReasoningEffort | null | undefined
  reasoning_tokens?: number | undefined
  reasoning?: WantedReasoning | null | undefined
}

interface WantedReasoning {
  effort?: ReasoningEffort | null
  summary?: string | null
  generate_summary?: string | null
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null

/** Options of the model calls; undefined for none. Neutral values count as none, because some providers refuse the parameters. */
export function toModelOptions(
  body: ModelParameters,
  toolChoice: ToolChoice | undefined,
  llms: AgentConfig['llms'],
): ModelOptions | undefined {
  const wanted = {
    temperature: body.temperature,
    top_p: orNone(body.top_p, 1),
    presence_penalty: orNone(body.presence_penalty, 0),
    frequency_penalty: orNone(body.frequency_penalty, 0),
    seed: body.seed,
  }
  refuseLacking(wanted, llms.primary)
  const stop = typeof body.stop === 'string' ? [body.stop] : body.stop
  const options = {
    toolChoice: toolChoice === 'auto' ? undefined : toolChoice,
    parallelToolCalls: body.parallel_tool_calls,
    temperature: wanted.temperature,
    topP: wanted.top_p,
    presencePenalty: wanted.presence_penalty,
    frequencyPenalty: wanted.frequency_penalty,
    seed: wanted.seed,
    maxOutputTokens: body.max_output_tokens,
    stop: stop?.length ? stop : undefined,
    reasoningEffort: body.reasoning_effort ?? body.reasoning?.effort,
    reasoningTokens: body.reasoning_tokens,
    reasoningSummary: (body.reasoning?.summary ?? body.reasoning?.generate_summary) ? true : undefined,
  }
  const present = Object.entries(options).filter(([, value]) => isPresent(value))
  return present.length > 0 ? (Object.fromEntries(present) as ModelOptions) : undefined
}

function orNone(value: number | null | undefined, neutral: number): number | undefined {
  return value === neutral ? undefined : (value ?? undefined)
}

/** Refuses parameters that the agent's model does not have on its wire. */
function refuseLacking(wanted: Record<string, unknown>, model: AgentConfig['llms']['primary']): void {
  const field = parametersLackedBy(model).find((name) => isPresent(wanted[name]))
  const wire = wireOf(model) === 'responses' ? ' on the responses API' : ''
  if (field !== undefined)
    throw invalid(['body', field], `is not supported by the agent's model (${model.provider}${wire})`, 'unsupported_parameter')
}
