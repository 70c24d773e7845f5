import { lowToHigh, toRows, withoutReasoning, type Family, type ModelAbilities, type Row } from './row.ts'

/** Models with open weights and models of smaller providers, by the names that most servers give the models. */
const onAnyServer: readonly Family[] = [
  [/deepseek.{0,60}(vl|ocr)/i, withoutReasoning],
  [/deepseek-?v4/i, { images: false, efforts: ['none', ...lowToHigh, 'xhigh', 'max'] }],
  [/deepseek/i, { images: false }],
  [/kimi-k3/i, { efforts: ['low', 'high', 'max'] }],
  [/kimi-k2(?!\.[5-9])/i, { images: false }],
  [/moonshot-v1(?!.{0,60}vision)/i, { ...withoutReasoning, images: false }],
  [/glm-[\d.]+v/i, {}],
  [/glm-5\.3/i, { images: false, efforts: ['low', 'high', 'max'] }],
  [/glm-/i, { images: false }],
  [/qwen.{0,60}(vl|omni)/i, { reasoningTokens: true }],
  [/qwen-?3[.-][5-9]/i, { reasoningTokens: true }],
  [/qwen.{0,60}coder|qwen-?2/i, { ...withoutReasoning, images: false }],
  [/qwen|qwq/i, { images: false, reasoningTokens: true }],
  [/grok-4\.20(-\d+)?-(non-)?reasoning/, withoutReasoning],
  [/llama-?3\.2.{0,60}(11b|90b)/i, withoutReasoning],
  [/llama-?[23]/i, { ...withoutReasoning, images: false }],
  [/llama/i, withoutReasoning],
  [/magistral/i, { efforts: [] }],
  [/(mistral|ministral)-(small|medium|large|\d)|pixtral/i, {}],
  [/mistral|mixtral|codestral|devstral/i, { ...withoutReasoning, images: false }],
  [/minimax-m2|nemotron/i, { images: false }],
]

const mistral: Partial<ModelAbilities> = { structuredOutput: 'with_tools', reasoningSummary: true }
const ofMistral: readonly Family[] = [
  [/magistral/, { efforts: [] }],
  [/voxtral/, { ...withoutReasoning, audio: true, images: false }],
  [/(small|medium)-(latest|26\d\d|\d\b)|small-4/, { efforts: ['none', 'high'] }],
  [/codestral|devstral|open-|mistral-(7b|nemo|tiny|saba)/, { ...withoutReasoning, images: false }],
  [/mistral-(small|medium|large)-\d{4}|mistral-large|ministral|pixtral/, withoutReasoning],
]

const xai: Partial<ModelAbilities> = { structuredOutput: 'with_tools', reasoningSummary: true, efforts: lowToHigh }
const ofXai: readonly Family[] = [
  [/grok-4\.20(-\d+)?-(non-)?reasoning/, { efforts: [] }],
  [/grok-4\.3|grok-latest|grok-4-(0709|fast|1-fast)|grok-3(?!-mini)/, { efforts: ['none', ...lowToHigh] }],
  [/grok-3-mini/, { efforts: ['low', 'high'], images: false, structuredOutput: 'without_tools' }],
  [/grok-(code|build)(?!-latest)/, { ...withoutReasoning, images: false }],
  [/grok-4\.6/, { efforts: [...lowToHigh, 'xhigh'] }],
  [/grok-/, {}],
]
const toolsOfXai = ['web_search', 'x_search', 'code', 'file_search', 'mcp']

const toXaiRow = (row: Row): Row => ({ ...row, wires: ['responses'], abilities: { ...row.abilities, providerTools: toolsOfXai } })
const xaiRows: readonly Row[] = [...toRows(['xai'], xai, ofXai), { providers: ['xai'], abilities: xai }]

/** What Bedrock says of a model that is not known: no marks, because a model without a cache refuses them. */
const bedrock: Partial<ModelAbilities> = { ...withoutReasoning, documents: true, cache: 'none' }
const withoutTools: Partial<ModelAbilities> = { tools: false, parallelTools: false, structuredOutput: 'none' }
const textOnly: Partial<ModelAbilities> = { images: false, documents: false }
const novaThinking: Partial<ModelAbilities> = { efforts: ['none', ...lowToHigh], reasoningSummary: true }

const onBedrock: readonly Family[] = [
  [/nova-2/, { ...novaThinking, video: true, cache: 'marks' }],
  [/nova-micro/, { ...textOnly, cache: 'marks' }],
  [/nova-/, { video: true, cache: 'marks' }],
  [/llama3-(8|70)b|llama3-2-[13]b/, { ...withoutTools, images: false }],
  [/llama3-2-(11|90)b|llama4/, {}],
  [/llama/, { images: false }],
  [/mistral-7b|mixtral/, { ...withoutTools, images: false }],
  [/pixtral|mistral-large-3|ministral-3/, {}],
  [/mistral\./, { images: false }],
  [/deepseek\.r1|titan|command-(light-)?text/, { ...withoutTools, ...textOnly }],
  [/deepseek|qwen3-(?!vl)|minimax|zai\.|command|jamba|palmyra/, textOnly],
]

export const openModelRows: readonly Row[] = [
  ...toRows(['mistral'], mistral, ofMistral),
  { providers: ['mistral'], abilities: { ...mistral, efforts: ['none', 'high'] } },
  ...xaiRows.map(toXaiRow),
  ...xaiRows,
  ...toRows(['amazon-bedrock'], bedrock, onBedrock),
  { providers: ['amazon-bedrock'], abilities: bedrock },
  ...toRows(['openai-compatible'], {}, onAnyServer),
  ...toRows(['openai-compatible'], { efforts: ['none', ...lowToHigh, 'xhigh'] }, [[/grok/, {}]]),
  {
    providers: ['embedded'],
    abilities: { ...withoutReasoning, structuredOutput: 'with_tools', images: false, cache: 'none' },
  },
]
