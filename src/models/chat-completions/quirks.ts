import type { ModelError } from '../../agent/model.ts'

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
