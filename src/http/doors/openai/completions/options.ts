import type { ModelOptions, ToolChoice } from '../../../../agent/model.ts'
import { parametersLackedBy, wireOf } from '../../../../configuration/models/abilities.ts'
import type { AgentConfig } from '../../../../configuration/schema.ts'
import { invalid } from '../../../../errors.ts'
import type { ChatBody } from '../../../resources/schemas.ts'
import { CompletionBody } from './schemas.ts'
import { Reasoning, refuseParameters, type ParameterRules } from '../parameters.ts'

const isPresent = (value: unknown): boolean => value !== undefined && value !== null
const isAny = () => true
const isTrue = (value: unknown): boolean => value === true
const isNot =
  (...allowed: unknown[]) =>
  (value: unknown): boolean =>
    !allowed.includes(value)

const notSupported = 'is not supported'
const ownTools = 'is not supported: the agent uses its own tools'

const rules: ParameterRules = {
  functions: [(list) => !(Array.isArray(list) && list.length === 0), 'is not supported: use tools'],
  function_call: [isNot('auto', 'none'), 'is not supported: use tool_choice'],
  web_search_options: [isAny, ownTools],
  n: [isNot(1), 'must be 1'],
  logprobs: [isTrue, notSupported],
  top_logprobs: [isNot(0), notSupported],
  logit_bias: [(bias) => Object.keys(Object(bias)).length > 0, notSupported],
  modalities: [(types) => String(types) !== 'text', 'only text is supported'],
  service_tier: [isNot('auto', 'default'), 'must be auto or default'],
  audio: [isAny, notSupported],
  prediction: [isAny, notSupported],
}

/** Refuses parameters that would change the answer but have no effect here. */
export function refuseWithoutEffect(body: CompletionBody, config: AgentConfig): void {
  refuseParameters(body, { known: CompletionBody.properties, rules, config })
  refuseParameters(body.reasoning ?? {}, { known: Reasoning.properties, config, path: ['reasoning'] })
  const { reasoning_effort: effort, reasoning } = body
  if (effort && reasoning?.effort && effort !== reasoning.effort)
    throw invalid(['body', 'reasoning', 'effort'], 'differs from reasoning_effort')
}

/** The tools of a request for the run, with the demand on their use. */
interface RequestedTools {
  tools: NonNullable<ChatBody['client_tools']>
  toolChoice: ToolChoice | undefined
}

/** Tools and their choice. Tools that the request does not allow are left out. */
export function toTools({ tools, tool_choice: choice }: Pick<CompletionBody, 'tools' | 'tool_choice'>): RequestedTools {
  const all = (tools ?? []).map(({ function: { name, description, parameters } }) => ({ name, description, schema: parameters }))
  const at = ['body', 'tool_choice']
  if (choice === undefined || choice === null || choice === 'auto' || choice === 'none')
    return { tools: all, toolChoice: choice ?? undefined }
  if (all.length === 0) throw invalid(at, 'is allowed only with tools')
  const assertKnown = (name: string, path: (string | number)[]) => {
    if (!all.some((tool) => tool.name === name)) throw invalid([...at, ...path], `there is no tool ${name} in tools`)
  }
  if (choice === 'required') return { tools: all, toolChoice: choice }
  if (choice.type === 'function') {
    const { name } = choice.function
    assertKnown(name, ['function', 'name'])
    return { tools: all, toolChoice: { name } }
  }
  const { mode, tools: allowed } = choice.allowed_tools
  for (const [index, tool] of allowed.entries()) assertKnown(tool.function.name, ['allowed_tools', 'tools', index, 'function', 'name'])
  const names = new Set(allowed.map((tool) => tool.function.name))
  return { tools: all.filter(({ name }) => names.has(name)), toolChoice: mode }
}

/** The parameters of a request that become options of the model calls. */
type ModelParameters = Pick<
  CompletionBody,
  | 'temperature'
  | 'top_p'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'seed'
  | 'stop'
  | 'parallel_tool_calls'
  | 'max_completion_tokens'
  | 'max_tokens'
  | 'reasoning_effort'
  | 'reasoning'
>

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
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens,
    stop: stop?.length ? stop : undefined,
    reasoningEffort: body.reasoning_effort ?? body.reasoning?.effort,
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
