import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ModelOptions, ToolChoice } from '../../agent/model.ts'

type CallOptions = Pick<
  LanguageModelV4CallOptions,
  | 'temperature'
  | 'topP'
  | 'maxOutputTokens'
  | 'stopSequences'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'reasoning'
  | 'toolChoice'
  | 'providerOptions'
>

/** The options of a request as options of the SDK; an option that the request does not have is absent. */
export function toCallOptions(provider: string, options: ModelOptions = {}): CallOptions {
  const { temperature, topP, maxOutputTokens, stop, seed, presencePenalty, frequencyPenalty, reasoningEffort } = options
  const toolChoice = toSdkChoice(options.toolChoice)
  // The other providers have no such option. The loop takes a single call in any case.
  const isSingle = options.parallelToolCalls === false && provider === 'anthropic'
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(seed === undefined ? {} : { seed }),
    ...(presencePenalty === undefined ? {} : { presencePenalty }),
    ...(frequencyPenalty === undefined ? {} : { frequencyPenalty }),
    ...(reasoningEffort === undefined ? {} : { reasoning: reasoningEffort }),
    ...(toolChoice ? { toolChoice } : {}),
    ...(isSingle ? { providerOptions: { anthropic: { disableParallelToolUse: true } } } : {}),
  }
}

function toSdkChoice(choice: ToolChoice | undefined): CallOptions['toolChoice'] {
  if (choice === undefined) return undefined
  return typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice }
}
