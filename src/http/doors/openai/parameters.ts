import { object, maybe } from '../../schemas/shared.ts'
import { Type, type TSchema } from 'typebox'
import { reasoningEfforts, type ModelOptions, type ToolChoice } from '../../../agent/model.ts'
import { parametersLackedBy, wireOf } from '../../../configuration/models/abilities.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { invalid, type Fault, ServiceError } from '../../../errors.ts'
import type { JsonSchema } from '../../../agent/messages.ts'
import { isObject } from '../../../json/shape.ts'

/** Parameters that chat completions and responses share, and the refusal of parameters without effect. */

export const Effort = Type.Enum([...reasoningEfforts])

export const Reasoning = object(
  'How much the model reasons. With `summary`, its thoughts are shown: a response has them as `reasoning` items.',
  { effort: maybe(Effort), summary: maybe(Type.String()), generate_summary: maybe(Type.String()) },
)

export const sampling = {
  temperature: maybe(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: maybe(Type.Number({ minimum: 0, maximum: 1 })),
  presence_penalty: maybe(Type.Number({ minimum: -2, maximum: 2 })),
  frequency_penalty: maybe(Type.Number({ minimum: -2, maximum: 2 })),
}

export const InputAudio = maybe(
  object('Audio, for a model that hears audio. The bytes tell the format.', {
    data: maybe(Type.String({ description: 'The bytes in base64.' })),
    format: maybe(Type.String({ maxLength: 20 })),
  }),
)

export const Verbosity = Type.Enum(['low', 'medium', 'high'], {
  description: 'The length of the answer, as an instruction for this run. Default: `medium`, which adds none.',
})

const verbosityTexts: Record<string, string> = {
  low: 'Answer as briefly as you can: only what the question asks for.',
  high: 'Answer in full detail.',
}

/** Instructions for a run: those of the request, and the wish for a length of the answer. */
export function toInstructions(instructions: string | null | undefined, verbosity: string | null | undefined): string | undefined {
  const wish = verbosityTexts[verbosity ?? '']
  return instructions && wish ? `${instructions}\n\n${wish}` : instructions || wish
}

/** By parameter: whether a value is refused, and the message. */
export type ParameterRules = Record<string, [isRefused: (value: unknown) => boolean, message: string]>

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

/** The schema that a client asks for, and its location in the request. */
export interface AnswerFormat {
  /** Null for any text, whatever agent.yaml says. */
  response_schema: JsonSchema | null
  at: Fault['loc']
}

/** A format as a client sends it. */
interface SentFormat {
  type: string
  /** The schema with its name in chat completions; responses have these fields in the format itself. */
  json_schema?: unknown
  [field: string]: unknown
}

/** Reads `response_format` of chat completions, or `text.format` of responses; undefined where a client sends none. */
export function toAnswerFormat(format: SentFormat | null | undefined, at: Fault['loc']): AnswerFormat | undefined {
  if (!format) return undefined
  switch (format.type) {
    case 'text':
      return { response_schema: null, at }
    case 'json_object':
      return { response_schema: { type: 'object' }, at }
    case 'json_schema':
      return 'json_schema' in format ? toSchema(format.json_schema, [...at, 'json_schema']) : toSchema(format, at)
    default:
      throw invalid([...at, 'type'], 'must be text, json_object or json_schema', 'unsupported_parameter')
  }
}

/** A description of the format stands in the schema, where the model reads it. */
function toSchema(definition: unknown, at: Fault['loc']): AnswerFormat {
  const { schema, description } = isObject(definition) ? definition : {}
  if (schema === undefined) throw invalid([...at, 'schema'], 'is required', 'missing')
  if (!isObject(schema)) throw invalid([...at, 'schema'], 'must be object')
  return { response_schema: typeof description === 'string' ? { description, ...schema } : schema, at: [...at, 'schema'] }
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
  reasoning_effort?: (typeof reasoningEfforts)[number] | null | undefined
  reasoning?: Type.Static<typeof Reasoning> | null | undefined
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
