import { Type, type Static } from 'typebox'
import { reasoningEfforts, type ModelUsage } from '../agent/model.ts'
import { providers, type Provider } from './providers.ts'
import {
  Address,
  Headers,
  optional,
  Secret,
  strict,
  optionalChoice,
  optionalFlag,
  optionalInteger,
  optionalNumber,
  optionalText,
} from './schema-parts.ts'

/** The schema of `llms`. Fields marked `writeOnly` are secrets. */

export const Prices = Type.Object(
  {
    input: Type.Number({ minimum: 0, description: 'USD per million input tokens.' }),
    output: Type.Number({ minimum: 0, description: 'USD per million output tokens, reasoning included.' }),
    cached_input: optionalNumber('USD per million input tokens that the provider had in its cache. Default: the price of `input`.', {
      minimum: 0,
    }),
    cache_write: optionalNumber('USD per million input tokens that the provider wrote to its cache. Default: the price of `input`.', {
      minimum: 0,
    }),
  },
  { ...strict, description: 'Prices in USD per million tokens.' },
)

const timeLimit = (description: string) => optional(Type.Number({ exclusiveMinimum: 0, maximum: 3600, description }))

const modelFields = {
  provider: Type.Enum(Object.keys(providers) as Provider[], {
    description:
      'Who serves the model. `embedded` is the demonstration model of the service, which works by rules; `openai-compatible` is any server with the chat completions of OpenAI, at `base_url`.',
  }),
  model: Type.String({ minLength: 1, description: 'The name of the model at the provider; for `azure` the name of the deployment.' }),
  api_key: optionalText('The key for the provider: a value, or `${NAME}` for an environment variable.', Secret),
  base_url: optionalText(
    'The http(s) address of the server, which may contain `${NAME}`. Required for `azure` and `openai-compatible`. Default: the address of the provider.',
    Address,
  ),
  headers: optional(Headers),
  temperature: optionalNumber('How much the answers vary; 0 varies least. Default: as the provider decides.', { minimum: 0, maximum: 2 }),
  max_output_tokens: optionalInteger('The longest answer of one model call, in tokens. Default: as the provider decides.', { minimum: 1 }),
  reasoning_effort: optionalChoice(
    [...reasoningEfforts],
    'How much a reasoning model thinks before it answers. Default: as the provider decides.',
  ),
  reasoning_tokens: optionalInteger(
    'The most tokens that a reasoning model thinks, where the model has such a limit. Takes precedence over `reasoning_effort`.',
    { minimum: 0 },
  ),
  reasoning_summary: optionalChoice(
    ['on', 'off'],
    'Whether the provider sends its reasoning, or a summary of it, as reasoning steps. Default: on, where the provider has it.',
  ),
  cache: optionalChoice(
    ['on', 'off'],
    "Whether the unchanging beginning of a prompt is marked for the provider's prompt cache, where a provider wants marks. Default: on.",
  ),
  wire: optionalChoice(
    ['responses', 'chat-completions'],
    'Which API of the provider is called. `openai`, `azure` and `xai`: default `responses`. `openai-compatible`: default `chat-completions`. Other providers have one API only.',
  ),
  extra_body: optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Further fields for the provider: merged into the body of each request; for `anthropic`, `google` and `amazon-bedrock` the provider options of the AI SDK. At most 16 KiB as JSON, and no field that the service sets itself.',
    }),
  ),
  images: optionalFlag('Whether the model accepts images. Default: true, for `embedded` false.'),
  write_tools: optionalFlag(
    'For `embedded` under `fallback`: whether it may call tools that change something. Default: false, because it works by rules. As the primary model it may.',
  ),
  prices: optional(
    Type.Union([Prices, Type.Literal('none')], {
      description:
        'Prices of the model in USD per million tokens, with which runs and metrics state their cost; `none`: no cost is stated. Default: the prices of well-known models, as the service knows them.',
    }),
  ),
  api_version: optionalText('For `azure`: the `api-version` of requests. Default: the newest stable version.'),
  // The region becomes part of a host name, so the pattern excludes dots and slashes.
  region: optional(Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description: 'For `amazon-bedrock`: the AWS region.' })),
  access_key_id: optionalText('For `amazon-bedrock`: the id of the AWS access key, or `${NAME}`.', Secret),
  secret_access_key: optionalText('For `amazon-bedrock`: the secret of the AWS access key, or `${NAME}`.', Secret),
  session_token: optionalText('For `amazon-bedrock`: the session token of temporary AWS credentials, or `${NAME}`.', Secret),
  connect_timeout: timeLimit('Seconds until a connection to the server stands. Default: 10.'),
  first_token_timeout: timeLimit('Seconds until the answer begins. Default: 120.'),
  idle_timeout: timeLimit('Seconds of silence inside an answer. Default: 60.'),
}

/** The schema of one model, described by its part. */
function modelFor(description: string) {
  return Type.Object(modelFields, { ...strict, description })
}

const Model = modelFor('A model.')

export type Prices = Static<typeof Prices>

export const Models = Type.Object(
  {
    primary: modelFor('The model that answers.'),
    fallback: Type.Array(Model, {
      default: [],
      maxItems: 50,
      description: 'Models that are tried in order when the primary model fails, after its retries.',
    }),
    small: optional(modelFor('The model that summarises long sessions and extracts memories. Default: the primary model.')),
    embedding: optional(
      modelFor(
        'The embedding model, with which documents, memories and tools are also found by meaning. `anthropic` and `embedded` have none. Default: the embedded encoder, for English.',
      ),
    ),
  },
  {
    ...strict,
    default: { primary: { provider: 'embedded', model: 'rules-1' } },
    description: 'The language models. A failed call is retried, then the next model of `fallback` answers.',
  },
)

export type ModelConfig = Static<typeof Model>

/** Prices of a model, in USD per million tokens. */
export interface ModelPrices {
  /** The date of the service's own price list, for example `2026-09-23`; absent for prices from agent.yaml. */
  date?: string
  rates: Prices
  /** Prices of a call with more than `above` input tokens, where a provider charges more for these. */
  long?: { above: number; rates: Prices }
}

/** Prices of a configured model: the one of this name at `place`, else the first of this name; undefined where no price is known. */
export type FindPrices = (model: string, place?: string) => ModelPrices | undefined

const tokensPerPrice = 1_000_000

/** USD of a model call. */
export function costOf({ input, output, cachedInput, cacheWrite = 0 }: ModelUsage, { rates, long }: ModelPrices): number {
  const prices = long && input > long.above ? long.rates : rates
  const cached = cachedInput * (prices.cached_input ?? prices.input)
  const written = cacheWrite * (prices.cache_write ?? prices.input)
  const plain = Math.max(input - cachedInput - cacheWrite, 0) * prices.input
  return (plain + cached + written + output * prices.output) / tokensPerPrice
}
