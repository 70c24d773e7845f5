import type { ModelOptions, ToolChoice } from '../../agent/model.ts'
import { providers, type Provider, type ProviderTraits } from '../../configuration/providers.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { invalid } from '../../errors.ts'
import type { ChatBody } from '../schemas.ts'
import type { CompletionBody } from './completion-schemas.ts'

type IsRefused = (value: unknown) => boolean

const isPresent: IsRefused = (value) => value !== undefined && value !== null
const isTrue: IsRefused = (value) => value === true
const isNot =
  (...allowed: unknown[]): IsRefused =>
  (value) =>
    isPresent(value) && !allowed.includes(value)

const notSupported = 'is not supported'
const ownTools = 'is not supported: the agent uses its own tools'

/** By parameter: whether its value is refused, and the message. */
const refusals: Partial<Record<keyof CompletionBody, [IsRefused, string]>> = {
  functions: [(list) => isPresent(list) && !(Array.isArray(list) && list.length === 0), 'is not supported: use tools'],
  function_call: [isNot('auto', 'none'), 'is not supported: use tool_choice'],
  web_search_options: [isPresent, ownTools],
  n: [isNot(1), 'must be 1'],
  store: [isTrue, 'is not supported: every run is kept, and read at GET /core/v1/runs/{request_id}'],
  logprobs: [isTrue, notSupported],
  top_logprobs: [isNot(0), notSupported],
  logit_bias: [(bias) => isPresent(bias) && Object.keys(Object(bias)).length > 0, notSupported],
  modalities: [(types) => isPresent(types) && String(types) !== 'text', 'only text is supported'],
  service_tier: [isNot('auto', 'default'), 'must be auto or default'],
  verbosity: [isNot('medium'), 'must be medium'],
  audio: [isPresent, notSupported],
  prediction: [isPresent, notSupported],
}

/** Refuses parameters that would change the answer but have no effect here. */
export function refuseParameters(body: CompletionBody): void {
  for (const [field, [isRefused, message]] of Object.entries(refusals)) {
    if (isRefused(body[field as keyof CompletionBody])) throw invalid(['body', field], message, 'unsupported_parameter')
  }
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
> & { reasoning_summary?: boolean | undefined }

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
  refuseLacking(wanted, llms.primary.provider)
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
    reasoningEffort: body.reasoning_effort,
    reasoningSummary: body.reasoning_summary,
  }
  const present = Object.entries(options).filter(([, value]) => isPresent(value))
  return present.length > 0 ? (Object.fromEntries(present) as ModelOptions) : undefined
}

function orNone(value: number | null | undefined, neutral: number): number | undefined {
  return value === neutral ? undefined : (value ?? undefined)
}

/** Refuses parameters that the provider of the agent's model does not have. */
function refuseLacking(wanted: Record<string, unknown>, provider: Provider): void {
  const { lacks = [] }: ProviderTraits = providers[provider]
  const field = lacks.find((name) => isPresent(wanted[name]))
  if (field !== undefined) throw invalid(['body', field], `is not supported by the agent's model (${provider})`, 'unsupported_parameter')
}
