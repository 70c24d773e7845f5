import type { ReasoningEffort } from '../../agent/model.ts'
import { toRows, withoutReasoning, type Family, type ModelAbilities, type Row } from './row.ts'

/** Efforts of models that think as much as each question needs. */
const adaptive: readonly ReasoningEffort[] = ['low', 'medium', 'high', 'max']
const adaptiveToXhigh: readonly ReasoningEffort[] = ['low', 'medium', 'high', 'xhigh', 'max']
/** Efforts of models that think up to a number of tokens: an effort becomes a share of the longest answer. */
const budgets: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

const withBudget: Partial<ModelAbilities> = { efforts: budgets, reasoningTokens: true }
const alwaysThinking: Partial<ModelAbilities> = { efforts: adaptiveToXhigh }
const switchable: Partial<ModelAbilities> = { efforts: ['none', ...adaptiveToXhigh] }

const common: Partial<ModelAbilities> = {
  structuredOutput: 'with_tools',
  strictTools: true,
  reasoningSummary: true,
  images: true,
  documents: true,
  cache: 'marks',
}

/** Before native structured output: the schema of an answer is a tool that the model must call. */
const early: Partial<ModelAbilities> = { structuredOutput: 'without_tools', strictTools: false }

/** Ids of Bedrock, OpenRouter and Anthropic hold the same names; OpenRouter writes `4.7` for `4-7`. */
const families: readonly Family[] = [
  [/claude-(opus|sonnet)-5[-.]5/, alwaysThinking],
  [/claude-(fable|mythos)/, alwaysThinking],
  [/claude-(opus|sonnet)-4[-.]6/, { efforts: ['none', ...adaptive], reasoningTokens: true }],
  [/claude-(opus|sonnet|haiku)-4[-.]5/, withBudget],
  [/claude-opus-4[-.]1/, withBudget],
  [/claude-opus-4[-.][78]/, switchable],
  [/claude-(opus|sonnet)-4(?![-.][1-9](?!\d))/, { ...withBudget, ...early }],
  [/claude-3[-.]7/, { ...withBudget, ...early }],
  [/claude-3[-.]5/, { ...withoutReasoning, ...early }],
  [/claude-(3|2|v2|instant)/, { ...withoutReasoning, ...early, documents: false }],
  // Opus 5, Sonnet 5, Haiku 5.5 and names that are not known yet.
  [/claude/, switchable],
]

const toolsOfAnthropic = ['web_search', 'fetch', 'code', 'mcp']

/** Bedrock validates requests by itself, and knows neither schemas of answers nor strict tools for the newest models. */
const onBedrock: readonly Family[] = [
  [/claude-(opus|sonnet)-4[-.]5/, withBudget],
  [/claude-haiku-4[-.]5/, { ...withBudget, structuredOutput: 'without_tools' }],
  [/claude-opus-4[-.]6/, { efforts: ['none', ...adaptive], reasoningTokens: true }],
  [/claude-sonnet-4[-.]6/, { efforts: ['none', ...adaptive], reasoningTokens: true, structuredOutput: 'without_tools' }],
  ...families.map(([model, abilities]): Family => [model, { ...abilities, ...early }]),
]

export const claudeRows: readonly Row[] = [
  ...toRows(['anthropic'], { ...common, providerTools: toolsOfAnthropic }, families),
  ...toRows(['amazon-bedrock'], common, onBedrock),
  // A compatible server may not enforce schemas, and OpenRouter has limits in tokens for all of the family.
  ...toRows(
    ['openai-compatible'],
    { reasoningSummary: true, images: true, cache: 'marks', strictTools: false },
    families.map(([model, { efforts }]): Family => [model, { efforts: efforts ?? [], reasoningTokens: (efforts ?? []).length > 0 }]),
  ),
  { providers: ['anthropic'], abilities: { ...common, ...switchable, providerTools: toolsOfAnthropic } },
]
