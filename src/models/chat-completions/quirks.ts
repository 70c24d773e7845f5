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
  [/\bstrict\b|schema for function/i, 'refusesStrict'],
]

/** The quirk that a refusal of a request shows, which was made with `sent`; undefined if another request cannot help. */
export function findQuirk(sent: Quirks, error: ModelError): keyof Quirks | undefined {
  if (error.code !== 'refused') return undefined
  return refusals.find(([words, name]) => !sent[name] && words.test(error.message))?.[1]
}
