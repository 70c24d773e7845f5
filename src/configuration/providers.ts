/**
 * The providers of `llms`, each described once. A server of a known wire is added with one row; a provider of the AI SDK also needs its
 * package and a factory in `models/ai-sdk/providers.ts`.
 */
export const providers = {
  embedded: { wire: 'embedded', needs: [], embeds: false },
  openai: {
    wire: 'chat-completions',
    baseUrl: 'https://api.openai.com/v1',
    responses: 'default',
    maxTokensField: 'max_completion_tokens',
    schemaWithTools: true,
    needs: ['api_key'],
    embeds: true,
    example: { environment: ['OPENAI_API_KEY'], model: 'gpt-5-mini' },
  },
  anthropic: {
    wire: 'ai-sdk',
    host: 'api.anthropic.com',
    needs: ['api_key'],
    lacks: ['seed', 'presence_penalty', 'frequency_penalty'],
    embeds: false,
    example: { environment: ['ANTHROPIC_API_KEY'], model: 'claude-sonnet-4-5', settings: 'max_output_tokens: 4000' },
  },
  google: {
    wire: 'ai-sdk',
    host: 'generativelanguage.googleapis.com',
    needs: ['api_key'],
    embeds: true,
    otelName: 'gcp.gemini',
    example: { environment: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'], model: 'gemini-2.5-flash' },
  },
  mistral: {
    wire: 'chat-completions',
    baseUrl: 'https://api.mistral.ai/v1',
    dialect: 'mistral',
    needs: ['api_key'],
    embeds: true,
    otelName: 'mistral_ai',
    example: { environment: ['MISTRAL_API_KEY'], model: 'mistral-medium-latest' },
  },
  azure: {
    wire: 'chat-completions',
    dialect: 'azure',
    responses: 'default',
    maxTokensField: 'max_completion_tokens',
    schemaWithTools: true,
    needs: ['base_url', 'api_key'],
    embeds: true,
    otelName: 'azure.ai.openai',
    example: { environment: ['AZURE_OPENAI_API_KEY'], model: 'DEPLOYMENT', settings: 'base_url: "https://RESOURCE.openai.azure.com"' },
  },
  xai: {
    wire: 'chat-completions',
    baseUrl: 'https://api.x.ai/v1',
    responses: 'default',
    needs: ['api_key'],
    embeds: false,
    otelName: 'x_ai',
    example: { environment: ['XAI_API_KEY'], model: 'grok-4.3' },
  },
  'amazon-bedrock': {
    wire: 'ai-sdk',
    host: 'bedrock-runtime.{region}.amazonaws.com',
    needs: ['aws_credentials'],
    lacks: ['seed', 'presence_penalty', 'frequency_penalty'],
    embeds: true,
    otelName: 'aws.bedrock',
    example: {
      environment: ['AWS_ACCESS_KEY_ID'],
      model: 'amazon.nova-lite-v1:0',
      // A configuration cannot use the service's own AWS_ variables: an agent must not be able to send them anywhere.
      settings: 'region: us-east-1, access_key_id: "${BEDROCK_KEY_ID}", secret_access_key: "${BEDROCK_SECRET}"',
      note: "with the key under these names: AWS_* is the service's own",
    },
  },
  'openai-compatible': { wire: 'chat-completions', responses: 'optional', isAnyServer: true, needs: ['base_url'], embeds: true },
} as const satisfies Record<string, ProviderTraits>

export type Provider = keyof typeof providers

/** The names of the providers with the wire format `Wire`. */
export type ProviderOfWire<Wire extends ProviderTraits['wire']> = {
  [P in Provider]: (typeof providers)[P]['wire'] extends Wire ? P : never
}[Provider]

export type ChatCompletionsProvider = ProviderOfWire<'chat-completions'>
export type AiSdkProvider = ProviderOfWire<'ai-sdk'>

export type ProviderTraits = EmbeddedTraits | ChatCompletionsTraits | AiSdkTraits

export type LackedParameter = 'seed' | 'presence_penalty' | 'frequency_penalty'

interface CommonTraits {
  /** The required fields of a model in agent.yaml. A key may also be given as a header. */
  needs: readonly ('base_url' | 'api_key' | 'aws_credentials')[]
  /** True if the provider has embedding models. */
  embeds: boolean
  /** Parameters of OpenAI's API that no model of the provider has. */
  lacks?: readonly LackedParameter[]
  /** `gen_ai.provider.name` of OpenTelemetry's conventions; default: the provider's name. */
  otelName?: string
  example?: ProviderExample
}

/** A model of the provider that `doctor` and the first start suggest. */
export interface ProviderExample {
  /** Environment variables that hold the provider's key; any of the variables leads to the suggestion. */
  environment: readonly string[]
  model: string
  /** Further fields of the model in agent.yaml. */
  settings?: string
  /** A comment behind the line of agent.yaml. */
  note?: string
}

interface EmbeddedTraits extends CommonTraits {
  wire: 'embedded'
}

/** A server with OpenAI's chat completions. */
export interface ChatCompletionsTraits extends CommonTraits {
  wire: 'chat-completions'
  /** The default of `base_url`. */
  baseUrl?: string
  /** Only agent.yaml knows the server, so `base_url` is required. */
  isAnyServer?: true
  /** The provider has OpenAI's responses API too: by default, or with `wire: responses`. Absent: chat completions only. */
  responses?: 'default' | 'optional'
  /** A server that departs from OpenAI's wire: `azure` in addresses and the header of the key, `mistral` in messages and message ids. */
  dialect?: 'azure' | 'mistral'
  /** Field of a request for the maximum length of the answer; default: `max_tokens`. */
  maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** True if `response_format` with a schema leaves the model free to call tools. */
  schemaWithTools?: true
}

/** A provider that is called through a package of the AI SDK. */
export interface AiSdkTraits extends CommonTraits {
  wire: 'ai-sdk'
  /** The host of requests without `base_url`; `{region}` is the configured region. */
  host: string
}

/** The traits of a provider; undefined for an unknown name. */
export function findProvider(name: unknown): ProviderTraits | undefined {
  return typeof name === 'string' && Object.hasOwn(providers, name) ? providers[name as Provider] : undefined
}

export function isAiSdkProvider(provider: Provider): provider is AiSdkProvider {
  return providers[provider].wire === 'ai-sdk'
}
