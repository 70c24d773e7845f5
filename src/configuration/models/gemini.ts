import type { ReasoningEffort } from '../../agent/model.ts'
import { lowToHigh, noAbilities, toRows, withoutReasoning, type Family, type ModelAbilities, type Row } from './row.ts'

/** An effort becomes a share of the longest reasoning. */
const budgets: readonly ReasoningEffort[] = ['minimal', 'low', 'medium', 'high', 'xhigh']

const common: Partial<ModelAbilities> = {
  structuredOutput: 'with_tools',
  strictTools: true,
  reasoningSummary: true,
  images: true,
  documents: true,
  audio: true,
  video: true,
  cache: 'automatic',
  providerTools: ['web_search', 'fetch', 'code', 'file_search'],
}

/** Gemini 2 takes either its own tools, the schema of an answer or the tools of the agent. */
const second: Partial<ModelAbilities> = { structuredOutput: 'without_tools', providerTools: [] }

/** A model that makes pictures or speech calls no tools. */
const makesMedia: ModelAbilities = { ...noAbilities, images: true, cache: 'automatic' }

const families: readonly Family[] = [
  [/gemini-.{0,60}(image|tts)|nano-banana/, makesMedia],
  [/gemma/, { ...withoutReasoning, ...second, strictTools: false, documents: false, audio: false, video: false, cache: 'none' }],
  [/gemini-1|gemini-pro(-vision)?$/, { ...withoutReasoning, ...second, strictTools: false, cache: 'none' }],
  [/gemini-2\.0/, { ...withoutReasoning, ...second, strictTools: false }],
  [/gemini-2\.5-pro/, { ...second, efforts: budgets, reasoningTokens: true }],
  [/gemini-2/, { ...second, efforts: ['none', ...budgets], reasoningTokens: true }],
  [/gemini-4-hydrogen/, { efforts: [...lowToHigh, 'xhigh'] }],
  [/gemini-(\d+(\.\d+)?-)?pro/, { efforts: lowToHigh }],
  [/gemini-(3\.[7-9]-flash|flash-latest)(?!-lite)/, { efforts: lowToHigh }],
  [/gemini-3/, { efforts: ['minimal', ...lowToHigh] }],
  [/gemini-flash-lite/, { efforts: ['minimal', ...lowToHigh] }],
  [/gemini/, { efforts: ['minimal', ...lowToHigh] }],
]

export const geminiRows: readonly Row[] = [
  ...toRows(['google'], common, families),
  { providers: ['google'], abilities: { ...common, efforts: ['minimal', ...lowToHigh] } },
  // Google's compatible address and OpenRouter take audio, and no PDF in the form of OpenAI.
  ...toRows(
    ['openai-compatible'],
    { images: true, cache: 'automatic', strictTools: false },
    families.map(([model, { tools = true, parallelTools = true, structuredOutput = 'with_tools', efforts = [], audio = true }]): Family => {
      const efforted: readonly ReasoningEffort[] = efforts.length > 0 ? ['none', 'minimal', ...lowToHigh] : []
      return [model, { tools, parallelTools, structuredOutput, efforts: efforted, reasoningTokens: efforts.length > 0, audio }]
    }),
  ),
]
