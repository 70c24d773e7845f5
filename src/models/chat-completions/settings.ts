import type { JsonObject } from '../../agent/messages.ts'
import { abilitiesOf, type ModelAbilities } from '../../configuration/models/abilities.ts'
import { providers, type ChatCompletionsProvider, type ChatCompletionsTraits } from '../../configuration/providers.ts'
import type { ModelConfig } from '../../configuration/schema.ts'
import type { ChatCompletionsOptions } from './chat-completions.ts'
import type { RequestSettings } from './request.ts'

type ConfiguredOptions = RequestSettings & Pick<ChatCompletionsOptions, 'seesImages' | 'readsFiles'>

/** The options of a model on chat completions that agent.yaml and the table of abilities decide. */
export function toConfiguredOptions(provider: ChatCompletionsProvider, config: ModelConfig): ConfiguredOptions {
  const { schemaWithTools }: ChatCompletionsTraits = providers[provider]
  const abilities = abilitiesOf({ ...config, wire: 'chat-completions' })
  const { extra_body: extraBody, reasoning_summary: summary } = config
  return {
    provider,
    model: config.model,
    seesImages: config.images ?? true,
    readsFiles: (mediaType) => isReadable(mediaType, abilities),
    temperature: config.temperature,
    maxOutputTokens: config.max_output_tokens,
    reasoningEffort: config.reasoning_effort,
    // Models of OpenAI get the effort as configured, and what other servers accept is not known.
    efforts: provider === 'mistral' || provider === 'xai' ? abilities.efforts : undefined,
    reasoningTokens: config.reasoning_tokens,
    reasoningSummary: summary && summary === 'on',
    extraBody: extraBody as JsonObject | undefined,
    structuredOutput: schemaWithTools ? 'with_tools' : abilities.structuredOutput,
    strictTools: abilities.strictTools,
  }
}

/** The audio formats that every server with audio reads. */
const audioTypes = /^audio\/(?:(?:x-)?wav|wave|vnd\.wave|mpeg|mp3)$/i

function isReadable(mediaType: string, { documents, audio, video }: ModelAbilities): boolean {
  if (mediaType === 'application/pdf') return documents
  return audioTypes.test(mediaType) ? audio : video && mediaType.startsWith('video/')
}
