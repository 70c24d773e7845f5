import type { ReasoningEffort } from '../../agent/model.ts'
import { lowToHigh, toRows, withoutReasoning, type Family, type ModelAbilities, type Row } from './row.ts'

const lowToMax: readonly ReasoningEffort[] = [...lowToHigh, 'xhigh', 'max']

const common: Partial<ModelAbilities> = {
  structuredOutput: 'with_tools',
  strictTools: true,
  reasoningSummary: true,
  images: true,
  documents: true,
  cache: 'automatic',
  providerTools: ['web_search', 'code', 'file_search', 'mcp', 'image_generation'],
}

/** The smallest and the oldest models search no web. */
const withoutWeb: Partial<ModelAbilities> = { providerTools: ['code', 'file_search', 'mcp'] }
/** The `o` series refuses the field `parallel_tool_calls`. */
const series: Partial<ModelAbilities> = { efforts: lowToHigh, parallelTools: false }
const early: Partial<ModelAbilities> = {
  ...withoutReasoning,
  structuredOutput: 'none',
  strictTools: false,
  documents: false,
  providerTools: [],
}

const families: readonly Family[] = [
  [
    /gpt-oss/,
    { efforts: lowToHigh, images: false, documents: false, strictTools: false, structuredOutput: 'without_tools', providerTools: [] },
  ],
  [/gpt-6(\.1)?-(terra|luna)|gpt-6-sol/, { efforts: ['none', ...lowToMax] }],
  [/gpt-[6-9]/, { efforts: lowToMax }],
  [/gpt-5-chat/, { ...early, tools: false, parallelTools: false, documents: true }],
  [/gpt-5\.\d+-chat/, { efforts: ['medium'] }],
  [/gpt-5-pro/, { efforts: ['high'] }],
  [/gpt-5\.\d+-pro/, { efforts: ['medium', 'high', 'xhigh'] }],
  [/gpt-5(\.1)?-codex(?!-max)/, { efforts: lowToHigh }],
  [/gpt-5\.\d+-codex/, { efforts: [...lowToHigh, 'xhigh'] }],
  [/gpt-5\.1/, { efforts: ['none', ...lowToHigh] }],
  [/gpt-5\.[2-5]/, { efforts: ['none', ...lowToHigh, 'xhigh'] }],
  [/gpt-5\.\d/, { efforts: ['none', ...lowToMax] }],
  [/gpt-5/, { efforts: ['minimal', ...lowToHigh] }],
  [/gpt-4o.{0,60}audio|gpt-audio/, { ...early, images: false, audio: true }],
  [/gpt-4\.1-nano/, { ...withoutReasoning, ...withoutWeb }],
  [/gpt-4(\.1|o)/, withoutReasoning],
  [/gpt-4-turbo/, early],
  [/gpt-(4|3\.5)/, { ...early, images: false, cache: 'none' }],
  [/(^|\/)o3-mini/, { ...series, ...withoutWeb, images: false, documents: false }],
  [/(^|\/)o1/, { ...series, ...withoutWeb }],
  [/(^|\/)o\d/, series],
]

/** An unknown model of OpenAI is new. The name of a deployment on Azure says nothing about its model. */
const rows: readonly Row[] = [
  ...toRows(['openai', 'azure'], common, families),
  { providers: ['openai'], abilities: { ...common, efforts: ['none', ...lowToMax] } },
  { providers: ['azure'], abilities: common },
]

/** What another host of the same models does not do for certain. */
const elsewhere: Partial<ModelAbilities> = { structuredOutput: 'without_tools', strictTools: false, documents: false, providerTools: [] }

/** Since this version, chat completions refuse functions together with reasoning. */
const withoutFunctions = /gpt-5\.[4-9](?!\d*-(chat|pro|codex))/

export const openaiRows: readonly Row[] = [
  ...rows.map((row): Row => ({ ...row, wires: ['responses'] })),
  ...toChatCompletions('openai', {}),
  // Azure takes PDF documents with the responses API only.
  ...toChatCompletions('azure', { documents: false }),
  ...toRows(
    ['openai-compatible'],
    { ...common, ...elsewhere },
    families.map(([model, abilities]): Family => [model, { ...abilities, ...elsewhere }]),
  ),
  ...toRows(['amazon-bedrock'], { ...common, ...elsewhere, cache: 'none' }, [
    [/gpt-oss/, { efforts: lowToHigh, images: false }],
    [/openai\.gpt-/, { efforts: ['none', ...lowToMax] }],
  ]),
]

function toChatCompletions(provider: 'openai' | 'azure', changes: Partial<ModelAbilities>): Row[] {
  const rest: Partial<ModelAbilities> = { providerTools: [], ...changes }
  return [
    { providers: [provider], model: withoutFunctions, abilities: { ...common, efforts: ['none'], ...rest } },
    ...rows
      .filter(({ providers }) => providers.includes(provider))
      .map((row): Row => ({ ...row, providers: [provider], abilities: { ...row.abilities, ...rest } })),
  ]
}
