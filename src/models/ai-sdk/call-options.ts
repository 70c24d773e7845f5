import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelOptions, ToolChoice } from '../../agent/model.ts'
import type { Provider } from '../../configuration/providers.ts'
import { isBlank } from '../blank.ts'
import { isOnResponses } from './schemas.ts'

type CallOptions = Pick<
  LanguageModelV4CallOptions,
  | 'temperature'
  | 'topP'
  | 'maxOutputTokens'
  | 'stopSequences'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'toolChoice'
  | 'providerOptions'
>

/** The options of a request as options of the SDK; an option that the request does not have is absent. */
export function toCallOptions(provider: Provider, options: ModelOptions = {}): CallOptions {
  const { temperature, topP, maxOutputTokens, seed, presencePenalty, frequencyPenalty } = options
  const stop = options.stop?.filter((text) => takesStop(provider, text)) ?? []
  const toolChoice = toSdkChoice(options.toolChoice)
  // The other providers have no such option. The loop takes a single call in any case.
  const single = options.parallelToolCalls === false ? singleCall[provider] : undefined
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(stop.length > 0 ? { stopSequences: stop } : {}),
    ...(seed === undefined ? {} : { seed }),
    ...(presencePenalty === undefined ? {} : { presencePenalty }),
    ...(frequencyPenalty === undefined ? {} : { frequencyPenalty }),
    ...(toolChoice ? { toolChoice } : {}),
    ...(single ? { providerOptions: single } : {}),
  }
}

/** Stop texts of a request that the provider does not take. */
export function untakenStops(provider: Provider, { stop = [] }: ModelOptions = {}): string[] {
  return stop.filter((text) => text !== '' && !takesStop(provider, text))
}

/** The responses API knows no stop texts, and Claude none of white space. */
function takesStop(provider: Provider, text: string): boolean {
  return text !== '' && (provider === 'google' || (!isOnResponses(provider) && !isBlank(text)))
}

/** The option for at most one call in a turn. */
const ofResponses = { openai: { parallelToolCalls: false } }
const singleCall: Readonly<Record<string, SharedV4ProviderOptions>> = {
  anthropic: { anthropic: { disableParallelToolUse: true } },
  openai: ofResponses,
  azure: ofResponses,
  'openai-compatible': ofResponses,
}

function toSdkChoice(choice: ToolChoice | undefined): CallOptions['toolChoice'] {
  if (choice === undefined) return undefined
  return typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice }
}
