import { isObject } from '../../json/shape.ts'
import { problemAt, type ConfigProblem, type Path } from '../problems.ts'
import { findProvider, type Provider } from '../providers.ts'
import type { Schema } from '../schema-walk.ts'
import type { Wire } from './row.ts'
import { wireOf } from './abilities.ts'

const maxExtraBytes = 16 * 1024

/** Checks the models by rules that a schema cannot express, also where the schema found faults. */
export function checkModels(config: unknown): ConfigProblem[] {
  const llms = isObject(config) ? config['llms'] : undefined
  if (!isObject(llms)) return []
  const models = Object.entries(llms).flatMap(([key, value]): [Path, unknown][] =>
    Array.isArray(value) ? value.map((item, index) => [['llms', key, index], item]) : [[['llms', key], value]],
  )
  return [...models.flatMap(([at, model]) => (isObject(model) ? checkModel(model, at) : [])), ...checkEmbedding(llms['embedding'])]
}

function checkModel(model: Schema, at: Path): ConfigProblem[] {
  const isSeeing = model['provider'] === 'embedded' && model['images'] === true
  return [
    ...checkAddress(model, at),
    ...checkWire(model, at),
    ...checkExtraBody(model, at),
    ...(isSeeing ? [problemAt([...at, 'images'], 'cannot be true: the embedded model does not support images')] : []),
  ]
}

function checkAddress({ provider, base_url }: Schema, at: Path): ConfigProblem[] {
  const traits = findProvider(provider)
  const isMissing = traits?.wire === 'chat-completions' && traits.isAnyServer && base_url === undefined
  return isMissing ? [problemAt([...at, 'base_url'], `is required by the provider ${String(provider)} but missing`)] : []
}

function checkWire({ provider, wire }: Schema, at: Path): ConfigProblem[] {
  const traits = findProvider(provider)
  if (wire === undefined || !traits) return []
  if (traits.wire === 'chat-completions' && traits.responses !== undefined) return []
  return [problemAt([...at, 'wire'], `cannot be set: the provider ${String(provider)} has one API only; remove the field`)]
}

function checkExtraBody({ provider, wire, extra_body: extra }: Schema, at: Path): ConfigProblem[] {
  if (!isObject(extra) || !findProvider(provider)) return []
  const path = [...at, 'extra_body']
  if (provider === 'embedded') return [problemAt(path, 'cannot be set: the embedded model sends no request; remove the field')]
  const bytes = Buffer.byteLength(JSON.stringify(extra))
  const size = `has ${bytes.toLocaleString('en')} bytes as JSON; at most ${maxExtraBytes.toLocaleString('en')} are allowed`
  const chosen = wire === 'responses' || wire === 'chat-completions' ? wire : undefined
  const own = new Set(ownFieldsOf({ provider: provider as Provider, ...(chosen && { wire: chosen }) }))
  return [
    ...(bytes > maxExtraBytes ? [problemAt(path, size)] : []),
    ...Object.keys(extra)
      .filter((field) => own.has(field))
      .map((field) => problemAt([...path, field], 'cannot be set here: the service sets this field itself; remove the field')),
  ]
}

function checkEmbedding(model: unknown): ConfigProblem[] {
  const provider = isObject(model) ? model['provider'] : undefined
  const traits = findProvider(provider)
  if (!traits || traits.embeds) return []
  return [
    problemAt(
      ['llms', 'embedding', 'provider'],
      `"${String(provider)}" has no embedding models; choose another provider, or remove llms.embedding`,
    ),
  ]
}

/** The fields of a request on chat completions that the service sets itself. A configuration cannot set them by `extra_body`. */
export const ownFields: readonly string[] = [
  ...['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'n', 'temperature', 'top_p'],
  ...['presence_penalty', 'frequency_penalty', 'stop', 'seed', 'random_seed', 'max_tokens', 'max_completion_tokens'],
  ...['reasoning_effort', 'response_format'],
]

/** The fields of a request on the responses API that the service sets itself, or that would make the provider keep the conversation. */
const ofResponses: readonly string[] = [
  ...['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'store', 'include'],
  ...['temperature', 'top_p', 'max_output_tokens', 'reasoning', 'background', 'conversation', 'previous_response_id'],
]

/** The provider options of the AI SDK that the service sets itself, for all of its providers. */
const ofAiSdk: readonly string[] = [
  ...['thinking', 'effort', 'cacheControl', 'disableParallelToolUse', 'mcpServers', 'structuredOutputMode', 'sendReasoning'],
  ...['thinkingConfig', 'structuredOutputs', 'reasoningConfig'],
]

const fieldsOf: Record<Wire, readonly string[]> = {
  'chat-completions': ownFields,
  responses: ofResponses,
  'ai-sdk': ofAiSdk,
  embedded: [],
}

/** The fields that `extra_body` of a model must not have. */
function ownFieldsOf(model: Parameters<typeof wireOf>[0]): readonly string[] {
  return fieldsOf[wireOf(model)]
}
