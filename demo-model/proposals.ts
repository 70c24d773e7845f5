import { readWords, setOf } from './language/words.ts'
import type { Order } from './orders.ts'
import type { Call } from './work.ts'

/** Questions before a call that changes something, and the answers to them. */

const asks = 'Shall I run'
const asksConsent = 'Please answer yes or no.'
const which = 'Which one do you mean'
const needs = 'Please tell me the'
/** Characters of a value that are shown. */
const maxShown = 1_000

/** The question before a call, with each value. */
export function proposalOf({ tool, input }: Pick<Call, 'tool' | 'input'>): string {
  const parts = Object.entries(input).map(([name, value]) => {
    const text = typeof value === 'string' && !value.includes('\n') ? `“${value}”` : JSON.stringify(value)
    return `${name} ${text.length > maxShown ? `${text.slice(0, maxShown)}… (${text.length} characters)` : text}`
  })
  return `${asks} \`${tool.name}\`${parts.length > 0 ? ` with ${parts.join(', ')}` : ''}?`
}

/** The end of an answer that proposes calls; nothing without calls. */
export function propose(calls: readonly Call[]): string[] {
  return calls.length > 0 ? [[...new Set(calls.map(proposalOf)), asksConsent].join(' ')] : []
}

/** True for an answer that asked whether to make calls. */
export function isProposal(answer: string): boolean {
  return answer.endsWith(asksConsent) && answer.includes(asks)
}

/** The question for what an order lacks; undefined for a complete order. */
export function questionOf({ tool, missing, choices = [] }: Pick<Order, 'tool' | 'missing' | 'choices'>): string | undefined {
  if (choices.length > 0) return `${which}: ${choices.join(' or ')}?`
  if (missing.length === 0) return undefined
  return `${needs} ${missing.map((name) => name.replaceAll('_', ' ')).join(' and the ')}: \`${tool.name}\` needs it.`
}

/** True for an answer that asked for input. */
export function asksForMore(answer: string): boolean {
  return answer.startsWith(needs) || answer.startsWith(which)
}

const consents = /^(?:y|yes|yep|yeah|sure|ok|okay|do|go|please do|confirm|confirmed|correct|of course|run|i confirm|all right|alright)\b/
const consenting = setOf(
  'y yes yep yeah sure ok okay do it that go ahead on for please confirm confirmed correct of course run i am is right all alright thanks thank you very so much',
)
const refusals =
  /^(?:n|no|nope|stop|cancel|do not|don't|never mind|forget it|leave it)(?: (?:thanks|thank you|do not|don't|stop|never mind|forget it|leave it))*$/

/** True for a plain yes, false for a plain no, undefined for anything else. */
export function readConsent(text: string): boolean | undefined {
  if (text.length > 40 || text.includes('?')) return undefined
  const words = readWords(text).map(({ lower }) => lower)
  if (refusals.test(words.join(' '))) return false
  return consents.test(words.join(' ')) && words.every((word) => consenting.has(word)) ? true : undefined
}
