import { type ReasoningEffort, type ModelError, reasoningEfforts } from '../../agent/model.ts'
import type { ChatCompletionsProvider } from '../../configuration/providers.ts'

/** How a server departs from OpenAI's chat completions where its address tells who it is. */
export interface Dialect {
  /** The fields of a request for the wanted reasoning. */
  toReasoning(wish: ReasoningWish): object
  /** True if the server refuses assistant messages without `reasoning_content` while it thinks. */
  needsReasoning?: true
  /** True if a model of the server that thinks refuses a demand for a call, and `none` stops the thinking. */
  stopsForDemands?: true
}

/** The wanted reasoning; absent fields are left to the server. */
export interface ReasoningWish {
  effort?: ReasoningEffort | undefined
  tokens?: number | undefined
  summary?: boolean | undefined
}

/** Finds the dialect of a server by its host. The efforts of `mistral` and `xai` are fitted to the model before. */
export function findDialect(provider: ChatCompletionsProvider, host: string): Dialect {
  if (provider === 'mistral' || provider === 'xai') return plain
  return rows.find(([domain]) => host === domain || host.endsWith(`.${domain}`))?.[1] ?? plain
}

/** OpenAI, Azure, vLLM, llama.cpp, Ollama and most others. The effort is sent as configured: servers know different sets of words. */
const plain: Dialect = { toReasoning: ({ effort }) => ({ reasoning_effort: effort }) }

const openRouter: Dialect = {
  toReasoning({ effort, tokens, summary }) {
    const amount =
      tokens === 0 ? { effort: 'none' } : tokens !== undefined ? { max_tokens: tokens } : { effort: fitEffort(effort, upToXhigh) }
    const reasoning = { ...amount, exclude: summary === false ? true : undefined }
    return Object.values(reasoning).some((value) => value !== undefined) ? { reasoning } : {}
  },
}

const deepSeek: Dialect = {
  needsReasoning: true,
  stopsForDemands: true,
  toReasoning: (wish) => ({ ...toSwitch(wish), reasoning_effort: wish.effort === 'none' || wish.tokens === 0 ? undefined : wish.effort }),
}

const moonshot: Dialect = { needsReasoning: true, stopsForDemands: true, toReasoning: toSwitch }

const zai: Dialect = { toReasoning: toSwitch }

const groq: Dialect = {
  toReasoning: ({ effort, summary }) => ({
    reasoning_effort: fitEffort(effort, noneToHigh),
    // A model that does not think refuses these fields, so the fields need a configured setting.
    include_reasoning: summary === false ? false : undefined,
  }),
}

const mistral: Dialect = { toReasoning: ({ effort }) => ({ reasoning_effort: fitEffort(effort, ['none', 'high']) }) }

const xai: Dialect = { toReasoning: ({ effort }) => ({ reasoning_effort: fitEffort(effort, noneToHigh) }) }

const google: Dialect = {
  toReasoning({ effort, tokens, summary }) {
    if (tokens === undefined) return { reasoning_effort: fitEffort(effort, ['none', 'minimal', 'low', 'medium', 'high']) }
    // Google's address takes its own settings under this name, and refuses an effort beside them.
    return { extra_body: { google: { thinking_config: { thinking_budget: tokens, include_thoughts: summary } } } }
  },
}

const alibaba: Dialect = {
  stopsForDemands: true,
  toReasoning: (wish) => ({ enable_thinking: isOn(wish), thinking_budget: wish.tokens === 0 ? undefined : wish.tokens }),
}

/** A row counts for the domain and the domains below it. */
const rows: readonly (readonly [domain: string, dialect: Dialect])[] = [
  ['openrouter.ai', openRouter],
  ['deepseek.com', deepSeek],
  ['moonshot.ai', moonshot],
  ['moonshot.cn', moonshot],
  ['z.ai', zai],
  ['bigmodel.cn', zai],
  ['groq.com', groq],
  ['mistral.ai', mistral],
  ['x.ai', xai],
  ['generativelanguage.googleapis.com', google],
  ['aliyuncs.com', alibaba],
]

const noneToHigh: readonly ReasoningEffort[] = ['none', 'low', 'medium', 'high']
const upToXhigh: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']
function toSwitch(wish: ReasoningWish): object {
  const on = isOn(wish)
  return on === undefined ? {} : { thinking: { type: on ? 'enabled' : 'disabled' } }
}

/** Whether the model is to think; undefined where nothing is configured. */
function isOn({ effort, tokens }: ReasoningWish): boolean | undefined {
  if (tokens !== undefined) return tokens > 0
  return effort === undefined ? undefined : effort !== 'none'
}

/** What a server demands of requests beyond OpenAI's form, as its refusals show. */
export interface Quirks {
  /** Every assistant message needs `reasoning_content`. */
  needsReasoning: boolean
  /** No message may have a field for reasoning. */
  refusesReasoning: boolean
  /** The calls of an assistant message need Google's thought signature. */
  needsSignatures: boolean
  /** The calls of an assistant message need OpenRouter's details of reasoning, with Google's thought signature. */
  needsDetails: boolean
  /** No tool may have a schema that the server enforces. */
  refusesStrict: boolean
  /** No question may stand behind a question: templates of open models raise an error, which llama.cpp answers with 500. */
  needsAlternation: boolean
  /** No call may be demanded of a model that thinks. */
  refusesDemands: boolean
  /** Parameters of tools need names that Claude accepts. */
  needsPlainNames: boolean
}

/** Each refusal by its words. The first fitting quirk that the refused request did not respect counts. */
const refusals: readonly (readonly [RegExp, keyof Quirks])[] = [
  [/reasoning_content\W.*\b(?:must be passed back|is missing|required)\b/i, 'needsReasoning'],
  [/reasoning details to be preserved/i, 'needsDetails'],
  [/thought_?signature/i, 'needsSignatures'],
  [
    /\breasoning(?:_content|_details)?\b.*\b(?:unsupported|not supported|not permitted|not allowed|unexpected|unrecognized|unknown|extra)/i,
    'refusesReasoning',
  ],
  [/\b(?:extra|unexpected|unrecognized|unknown)\b.{0,200}\breasoning/i, 'refusesReasoning'],
  // Servers of vLLM's family name the field only in a place that the excerpt of a refusal does not show.
  [/\bextra inputs are not permitted\b/i, 'refusesReasoning'],
  [/\bthinking\b.{0,200}\btool_choice\b|\btool_choice\b.{0,200}\bthinking\b|\bnot support this tool_choice\b/i, 'refusesDemands'],
  [/\bproperty keys should match pattern\b/i, 'needsPlainNames'],
  [/\broles must alternate\b/i, 'needsAlternation'],
  [/\bstrict\b|schema for function/i, 'refusesStrict'],
]

/** The quirk that a refusal of a request shows, which was made with `sent`; undefined if another request cannot help. */
export function findQuirk(sent: Quirks, error: ModelError): keyof Quirks | undefined {
  const { code, message } = error
  const isShown = (name: keyof Quirks) => code === 'refused' || (code === 'unavailable' && name === 'needsAlternation')
  return refusals.find(([words, name]) => !sent[name] && isShown(name) && words.test(message))?.[1]
}

/** The least accepted effort that is not below the wanted effort, or else the greatest; undefined where no effort is accepted. */
export function fitEffort(effort: ReasoningEffort | undefined, accepted: readonly ReasoningEffort[]): ReasoningEffort | undefined {
  if (effort === undefined) return undefined
  return accepted.find((candidate) => reasoningEfforts.indexOf(candidate) >= reasoningEfforts.indexOf(effort)) ?? accepted.at(-1)
}
